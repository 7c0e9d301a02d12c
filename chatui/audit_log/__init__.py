"""The audit log: writes it (``record``), and verifies, searches, counts and exports its lines."""
