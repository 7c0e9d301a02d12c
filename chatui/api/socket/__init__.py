"""The WebSocket transport of Open Responses: one response after another over one connection."""
