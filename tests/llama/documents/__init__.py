"""Attached documents with a real llama.cpp server."""
