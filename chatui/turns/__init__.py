"""Answering a user's message. Read ``start``, ``running``, ``runner``, ``stream``, ``sweep``."""
