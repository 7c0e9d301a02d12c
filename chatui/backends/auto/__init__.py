"""The ``auto`` back end: detects the wire format from the server."""
