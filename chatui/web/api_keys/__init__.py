"""The API keys page, where people create and revoke their keys."""
