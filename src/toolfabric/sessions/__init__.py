"""Session files in Pi's form: one writer, many readers."""
