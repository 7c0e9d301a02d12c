"""Leaving: how an account is closed, whatever the cause, what ends with it, and who gets what was written there."""
