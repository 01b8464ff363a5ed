"""First-party providers; each stands alone."""
