"""Structured output: how each wire format tells the model and its server about the required format."""
