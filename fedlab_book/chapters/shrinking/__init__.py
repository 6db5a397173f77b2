"""Chapter 5: what its runs show, in numbers and pictures; a module a section.

What is said are the rows of a finding, and whether its sentence holds; what is drawn
is a figure, and its text alternative.
"""
