"""Tests of the list of conversations in a browser."""
