"""Foundations that every package of Hocket uses: checks, units, files, calls, results."""
