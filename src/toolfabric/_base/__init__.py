"""Leaf helpers that know nothing of the domain."""
