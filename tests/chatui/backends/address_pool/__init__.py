"""Tests of one back end at several addresses."""
