"""Tests of the pages about usage."""
