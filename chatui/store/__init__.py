"""Conversations, files, documents, search: rows, and what is derived from them."""
