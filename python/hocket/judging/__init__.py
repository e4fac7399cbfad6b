"""Measured times, judged: whether they are good, what limits them, which algorithm ran, and what changed."""
