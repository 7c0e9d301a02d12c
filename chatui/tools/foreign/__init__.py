"""What other servers say of their tools is a stranger's text: here it is made harmless, bounded, and given our own names."""
