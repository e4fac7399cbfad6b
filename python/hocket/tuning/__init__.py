"""Deciding which algorithm a collective takes, for which ranks and sizes: by measurement, by simulation, or by both."""
