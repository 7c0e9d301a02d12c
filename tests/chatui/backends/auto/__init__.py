"""Tests of detecting the wire format of a server."""
