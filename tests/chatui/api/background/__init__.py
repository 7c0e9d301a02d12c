"""Tests of background responses."""
