"""Tests of tool calls within a turn."""
