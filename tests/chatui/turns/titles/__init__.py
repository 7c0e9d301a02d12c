"""Tests of the titles that a model gives."""
