"""The management command ``scim_token``."""
