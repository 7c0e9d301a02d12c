"""Responses that are written in the background: asked for once, polled or followed later, also after a connection broke."""
