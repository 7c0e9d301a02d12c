"""Tools of MCP servers, in both generations of the protocol: without sessions (2026-07-28), and with a handshake (2025-11-25 and before).

A client of our own: the official one validates responses with the server's schemas on the event loop, fails completely after one lost
connection, and brings an HTTP client without our guards. Only two methods and a handshake of the protocol are needed.
"""
