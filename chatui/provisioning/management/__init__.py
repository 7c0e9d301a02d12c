"""The management command that creates SCIM tokens."""
