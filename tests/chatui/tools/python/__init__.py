"""Tests of the tool ``python``."""
