"""Visitors of a running deployment, who speak HTTP and WebSocket from outside."""
