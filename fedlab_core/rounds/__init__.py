"""Rounds: a world, a method, and the loop that plays the one in the other."""
