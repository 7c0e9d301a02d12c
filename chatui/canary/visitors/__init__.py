"""Simulated visitors of a running deployment, over HTTP and WebSocket."""
