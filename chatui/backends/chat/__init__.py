"""The wire format Chat Completions."""
