"""The WebSocket transport of Open Responses: one response after the other over one connection."""
