"""Comparing what was measured with the papers: claims and tables."""
