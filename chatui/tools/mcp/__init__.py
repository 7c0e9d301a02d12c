"""Tools of MCP servers, in both generations of the protocol: without sessions (2026-07-28), and with a handshake (2025-11-25 and before).

This is our own client: the official one validates responses with the server's schemas on the event loop, fails completely after one lost
connection, and uses an HTTP client without our limits. Only two methods and the handshake of the protocol are needed.
"""
