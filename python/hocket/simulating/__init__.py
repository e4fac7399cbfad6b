"""Calls in virtual time: one, many compared, sweeps, replays, and why they take as long."""
