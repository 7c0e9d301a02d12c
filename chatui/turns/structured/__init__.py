"""Structured output: answers with a required format."""
