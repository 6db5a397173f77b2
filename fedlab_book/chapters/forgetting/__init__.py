"""Chapter 7: letters that nobody drawn holds, and what keeps them.

`arms` has the rivals, `found` what the runs say, `law` what drawn features leave of a
disagreement, `betrayed` the page on what a mean tells.
"""
