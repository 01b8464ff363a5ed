"""One head that says where the work stands: moved by compare-and-swap, certified by evidence."""
