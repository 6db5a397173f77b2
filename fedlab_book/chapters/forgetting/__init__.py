"""Chapter 6: letters that nobody drawn holds, and what keeps them. A module a section.

`arms` has the rivals, `seen` what is noted of a round, `found` what the runs say.
"""
