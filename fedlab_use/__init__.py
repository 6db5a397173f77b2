"""Use of the core: what stands around training, beside it and above it."""
