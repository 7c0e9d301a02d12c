"""Code that runs for every request: response headers, trusted proxies, values for every page."""
