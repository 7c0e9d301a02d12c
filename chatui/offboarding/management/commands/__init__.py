"""The management command ``close_account``."""
