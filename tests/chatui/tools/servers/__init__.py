"""Tests of the tools file, of confirmations, and of the offered tools."""
