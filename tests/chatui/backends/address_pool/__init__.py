"""Tests of a back end with several addresses."""
