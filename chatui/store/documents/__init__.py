"""Documents: what was read of people's files, and how they go to a model."""
