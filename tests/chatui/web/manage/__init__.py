"""Tests of the administration pages."""
