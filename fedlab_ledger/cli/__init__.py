"""The verbs of the command line that the ledger brings."""
