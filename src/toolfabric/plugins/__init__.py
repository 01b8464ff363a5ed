"""Providers that other distributions ship through entry points."""
