"""The WebSocket for programs."""
