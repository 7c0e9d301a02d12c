"""Permissions: who may read, write and see what, and the record of attempts without permission."""
