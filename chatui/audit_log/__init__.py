"""The audit log: writing it (``record``), and verifying, searching, counting and exporting it."""
