"""Shared code for tools of other servers. Their descriptions are untrusted text, which is cleaned, bounded and renamed here."""
