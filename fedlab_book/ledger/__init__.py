"""The ledger's pages: its tables, claims and curves as the site shows them."""
