"""Answers in a format: how the model and its server are told, over each wire format."""
