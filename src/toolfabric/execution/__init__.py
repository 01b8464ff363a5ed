"""One ``fabric_exec``: from the model's text to a bounded answer and a sealed record."""
