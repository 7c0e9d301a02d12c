"""Tests of tool calls in API requests: the client's functions and the product's own tools."""
