"""Reasoning that a server without channels puts into the answer: found, and held back."""
