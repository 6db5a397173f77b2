"""FedLAW, figure by figure: what is computed and drawn, a small module a section.

A module's `figure` gives a drawing and its text alternative, `facts` the rows of a
finding by short names, and `numbers`, where there is one, a table.
"""
