"""Signing in at tool servers (OAuth 2.1): each person as themselves, or the product for everybody.

``tokens`` is what a call needs: the access token of its person, renewed when it has expired. It begins with ``flow``, which sends a person
to an authorization server and takes their answer; ``discovery`` finds that server, as the MCP specification says (RFC 9728, RFC 8414).
``kept`` has the rows, in which tokens are sealed for one person and one server.

All addresses but the operator's own come from strangers: every request goes through ``door``. No token, secret or answer of a server is in
an error, a log line or a repr.
"""
