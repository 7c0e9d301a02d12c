"""What pages show of files."""
