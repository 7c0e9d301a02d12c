"""The command that closes an account."""
