"""The management command that closes an account."""
