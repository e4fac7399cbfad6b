"""Validation: Hocket's numbers beside closed forms, other simulators, real MPIs, labs and papers. One module each."""
