"""The ``fabric`` command."""
