"""What `make` runs: fetch, execute, build, check. The core does not need it."""
