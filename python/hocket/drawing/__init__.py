"""Everything that makes a picture or puts a result into words."""
