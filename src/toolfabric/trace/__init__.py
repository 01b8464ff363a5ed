"""The durable record of one execution: recorded, projected, sealed and read back."""
