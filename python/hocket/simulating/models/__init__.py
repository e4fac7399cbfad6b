"""Closed forms of published performance models: a module per paper."""
