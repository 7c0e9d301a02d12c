"""Real client libraries against the API, as it is served with the demo: each streams, has a function called, and asks a second time."""
