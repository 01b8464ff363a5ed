"""Measuring rejected calls, and normal forms proved from the live schema."""
