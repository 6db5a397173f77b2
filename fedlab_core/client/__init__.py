"""What a client does in a round, written for one client."""
