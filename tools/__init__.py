"""Tools that `make` runs: fetch, execute, build, check. The core needs none of them."""
