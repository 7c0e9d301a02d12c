"""Tests with real client libraries against the API, served with the demo: each streams, has a function called, and asks a second time."""
