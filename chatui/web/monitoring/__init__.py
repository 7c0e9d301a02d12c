"""What the operator's own machines ask: whether the process lives, whether it is ready, and its counts."""
