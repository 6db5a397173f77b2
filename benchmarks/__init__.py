"""Our speed against others', alternating in one process on one machine."""
