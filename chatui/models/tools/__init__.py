"""The tables about tools: approvals of calls, and a conversation's tool settings."""
