"""The tables about tools: which calls wait for a person or have waited, and what is settled for a conversation."""
