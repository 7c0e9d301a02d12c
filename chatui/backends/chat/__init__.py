"""Chat Completions: the wire format that most model servers support."""
