"""What each client does. Run by ``python -m tests.clients`` in environments of their own: arguments are the base address and a key."""
