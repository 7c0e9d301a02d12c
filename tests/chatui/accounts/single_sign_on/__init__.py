"""Signing in with OpenID providers: one of our own that can be told to misbehave, and a real one."""
