"""Playing what is missing: jobs, players, their locks, their costs."""
