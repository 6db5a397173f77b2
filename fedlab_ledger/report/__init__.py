"""Sentences of the book's pages on the ledger: answers, headlines, gaps."""
