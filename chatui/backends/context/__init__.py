"""Context windows: how much a model can read at once, and what is left out of a longer conversation."""
