"""What every request passes: response headers, trusted proxies, and the values that every page gets."""
