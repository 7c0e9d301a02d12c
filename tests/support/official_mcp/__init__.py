"""MCP servers of tests, based on the official package: programs that run in a separate environment."""
