"""Tests of the wire format that is chosen by asking."""
