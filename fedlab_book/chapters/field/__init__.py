"""Chapter 8: every method on four deals of the letters, and on the recorded fields.

`deals` has who holds what and who plays, `found` what the runs say, `recorded` the six
fields of the ledger.
"""
