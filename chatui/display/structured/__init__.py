"""What pages show of answers in a format."""
