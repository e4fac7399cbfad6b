"""Measured times of collectives, in the formats of those who measure."""
