"""Tests of what is made ready before a turn starts."""
