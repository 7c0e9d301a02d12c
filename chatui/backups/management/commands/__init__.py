"""The management commands ``backup``, ``restore`` and ``move_to_postgresql``, one module each."""
