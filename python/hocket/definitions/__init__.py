"""Algorithms, machines and topologies, and whether an algorithm is right."""
