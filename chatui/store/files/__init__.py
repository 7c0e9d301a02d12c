"""What is kept of files: those that tools make for people, and those that people bring."""
