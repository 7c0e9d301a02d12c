"""Tests of the titles that a model writes."""
