"""The eight steps of a call; ``run`` alone knows their order."""
