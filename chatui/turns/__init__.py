"""Answering: from a user's message to the final frame. Read ``start``, ``running``, ``runner``, ``stream``, ``sweep``."""
