"""Signing in with an OpenID provider: who the providers are, the exchange with them, and what a sign-in changes in an account."""
