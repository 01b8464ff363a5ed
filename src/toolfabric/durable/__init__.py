"""Bytes that survive: the only calls that change files, and what is built from them."""
