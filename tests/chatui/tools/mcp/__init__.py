"""Tests of MCP servers as tools: published ones, our own over both protocol versions, and hostile ones."""
