"""The laboratory: the network of a machine file, built on one Linux host, for real MPI programs."""
