"""A person's folders: what pages show of them, and their owner's actions."""
