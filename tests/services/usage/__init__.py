"""Usage limits with many concurrent questions."""
