"""Offboarding: closes an account, ends its access, and hands its conversations over."""
