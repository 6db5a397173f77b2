"""What the book's pages say of the ledger: answers, headlines, gaps."""
