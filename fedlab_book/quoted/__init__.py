"""The papers' numbers that chapters show, a frame a chapter, from the ledger's data."""
