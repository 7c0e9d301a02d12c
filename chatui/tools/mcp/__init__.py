"""Tools of MCP servers, over HTTP and over stdio.

``server`` lists and calls the tools that the operator named; ``http`` and ``stdio`` are its two ways, ``messages`` what they carry.
"""
