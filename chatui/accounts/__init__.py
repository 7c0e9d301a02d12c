"""Accounts: who is signed in, and how the first account is made."""
