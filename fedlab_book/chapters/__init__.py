"""Numbers and pictures of single chapters: pure functions, without their text."""
