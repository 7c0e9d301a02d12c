"""Tests of what is prepared before a turn starts."""
