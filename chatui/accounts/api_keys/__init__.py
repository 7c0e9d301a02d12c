"""API keys, with which programs act for a person: creating, revoking and checking them."""
