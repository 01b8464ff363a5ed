"""Bytes that survive: replacing files, appending lines, locks. It knows no word of the domain."""
