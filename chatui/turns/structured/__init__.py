"""Structured output: answers that must have a required format."""
