"""Rules that choose algorithms, and the tuning files of MPI libraries."""
