"""Tests of what people see of tools."""
