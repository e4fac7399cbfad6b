"""Tuning files of MPI libraries and others: read, written, explained, checked, compared and converted."""
