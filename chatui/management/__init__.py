"""Management commands, and the code that only they use."""
