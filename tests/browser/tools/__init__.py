"""Tests in the browser of tools at work."""
