"""The tool ``python``: runs what a model writes in an interpreter of its conversation, which reaches neither the machine nor a network."""
