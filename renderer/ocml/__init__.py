"""Reads and writes OpenChatML 2.2, as text and as JSON."""
