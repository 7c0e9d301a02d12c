"""The kind ``auto``: the wire format is chosen by asking the server."""
