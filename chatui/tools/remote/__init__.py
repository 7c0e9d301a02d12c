"""Tools of other servers: their descriptions are untrusted text, which is cleaned, bounded and renamed here."""
