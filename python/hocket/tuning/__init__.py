"""Choosing the algorithm of a collective for ranks and sizes, by measurement, by simulation, or by both."""
