"""What every room needs: checks, units, files, calls, results."""
