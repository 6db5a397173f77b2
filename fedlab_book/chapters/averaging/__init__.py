"""Chapter 1: one round, common starts, and how often clinics meet."""
