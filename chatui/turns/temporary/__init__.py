"""The end of temporary conversations: erased for good, or kept after all."""
