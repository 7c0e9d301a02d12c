"""The wire format Responses."""
