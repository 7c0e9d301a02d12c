"""API keys, with which programs act for a person: creates, checks and revokes them."""
