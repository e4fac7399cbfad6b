"""Machine files from measured times of collectives."""
