"""A person's folders: how pages show them, and their owner's actions."""
