"""Temporary conversations: erasing them, or keeping one."""
