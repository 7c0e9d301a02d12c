"""Pages about answers in a format."""
