"""Permissions: who may read, write and see what, and what is recorded when somebody asks without one."""
