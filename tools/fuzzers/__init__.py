"""What is fuzzed, one subject per file, and the harness."""
