"""The operator's sign-in settings: the providers, and who may use a password."""
