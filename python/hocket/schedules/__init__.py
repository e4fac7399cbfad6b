"""Recorded schedules, and the formats that they are written in."""
