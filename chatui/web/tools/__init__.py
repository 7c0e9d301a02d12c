"""The endpoints for tools: approval of calls, and the tool menu."""
