"""The host's core tools: read, grep, find, ls, edit, write and bash."""
