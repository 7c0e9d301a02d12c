"""Tests of how tools are displayed."""
