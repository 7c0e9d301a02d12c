"""What a model can read at once: how much that is, what is left out where a conversation is longer, and what servers say of it."""
