"""What pages show of usage."""
