"""Results in words: the lines and tables that the command line, reports and the explorer show."""
