"""Tests of what the operator's machines ask."""
