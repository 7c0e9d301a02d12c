"""The audit log: writes (``record``), verifies, searches, counts and exports it."""
