"""Calls in virtual time: single calls, comparisons, sweeps, replays, and explanations."""
