"""Chapter 6: clinics that look at one image, and what pulls their features together.

`arms` has the pulls and the federations, `seen` what is noted of a round, `looks` the
pictures, `pulls` what the runs say.
"""
