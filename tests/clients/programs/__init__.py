"""The client programs. Run by ``python -m tests.clients`` in separate environments, with the base address and a key as arguments."""
