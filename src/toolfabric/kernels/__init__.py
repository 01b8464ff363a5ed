"""Sandboxes for guest programs, behind one protocol."""
