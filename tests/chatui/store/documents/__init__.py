"""Tests of stored documents."""
