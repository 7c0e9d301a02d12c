"""Accounts: sign-in, passwords, invitations, and the first account."""
