"""What single chapters compute and draw: pure functions, and no text of theirs."""
