"""Tests of the loop of a turn: calls, tools, replies."""
