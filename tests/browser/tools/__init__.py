"""Tool calls in a browser."""
