"""The pages of a person's own settings."""
