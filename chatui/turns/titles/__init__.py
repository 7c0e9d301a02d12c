"""Conversation titles: requested from a model in the background after the first answer."""
