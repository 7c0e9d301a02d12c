"""Tests of the usage pages."""
