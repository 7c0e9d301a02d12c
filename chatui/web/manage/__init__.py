"""The administration pages: people, groups, model servers, failures, settings."""
