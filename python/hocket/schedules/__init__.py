"""Recorded schedules, and the file formats for them."""
