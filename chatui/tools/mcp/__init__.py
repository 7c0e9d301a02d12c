"""Tools of MCP servers, in both generations of the protocol: without sessions (2026-07-28), and with a handshake (2025-11-25 and before).

A client of our own: the official one checks a server's answers with its schemas on the event loop, dies with one lost connection, and
brings an HTTP client that is not guarded here. What is needed of the protocol is two methods and a handshake.
"""
