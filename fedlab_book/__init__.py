"""The book's own shelf: figures, widgets, pages, and the checks of its exercises.

Nothing here is needed to train; `fedlab_core` and `fedlab_ledger` know nothing of it.
"""
