"""Pictures of results, and results in words."""
