"""Which actions exist: mounted providers, checked descriptors, names and the surface."""
