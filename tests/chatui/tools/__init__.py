"""Tests of tools: defining, offering, checking and running them."""
