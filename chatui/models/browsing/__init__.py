"""Tables of what tools leave behind for people."""
