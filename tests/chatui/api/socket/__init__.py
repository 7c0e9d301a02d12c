"""Tests of the WebSocket for API clients."""
