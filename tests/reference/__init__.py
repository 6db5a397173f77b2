"""The plain version of each method: shaped like the paper's pseudo-code, and slow.

Written from the papers alone and importing nothing of `fedlab_core`, so that the fast
code has something independent to be equal to. What is random comes in as an argument:
the first model, who takes part in a round, and the order of every client's batches.
"""
