"""Readers of other tools, with the rules of their sources: what they refuse fails an assertion."""
