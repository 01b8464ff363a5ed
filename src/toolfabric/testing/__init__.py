"""Conformance suites and fakes, public for third parties."""
