"""Servers that OpenAPI documents describe.

``documents`` reads a document and finds its operations, ``swagger`` rewrites those of version 2, ``operations`` turns an operation into an
offer, ``requests`` a call into a request, and ``server`` lists the offers and makes the calls. The document is read from its file; its
server addresses are ignored.
"""
