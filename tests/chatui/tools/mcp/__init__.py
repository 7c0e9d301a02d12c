"""Tests of MCP servers as tools: published ones, our own over each era, and hostile ones."""
