"""The book's own shelf: what its chapters and pages are made with.

`bench` sets up what a chapter compares and judges it; `figures` is the visual language,
`draw` what chapters draw again and again, `widgets` the pictures that move, `pages`
sentences and tables; `ledger` has the ledger's pages, `checks` the exercises'.

Nothing here is needed to train; `fedlab_core` and `fedlab_ledger` know nothing of it.
"""
