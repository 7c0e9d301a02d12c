"""Sends marked answers through a live deployment and searches everything that comes out."""
