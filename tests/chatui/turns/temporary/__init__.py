"""Tests of temporary conversations."""
