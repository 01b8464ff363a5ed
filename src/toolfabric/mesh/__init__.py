"""What processes share: topics of events, and versioned keys changed by compare-and-swap."""
