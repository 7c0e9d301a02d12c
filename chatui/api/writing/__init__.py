"""Writes API responses: objects and streams in the formats that programs expect."""
