"""Answering a user's message. Read ``start``, ``running``, ``runner``, ``streams``, ``sweep``."""
