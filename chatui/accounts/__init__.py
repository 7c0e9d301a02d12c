"""Accounts: signing in, passwords, and how the first account is made."""
