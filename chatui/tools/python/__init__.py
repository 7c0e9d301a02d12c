"""The tool ``python``: runs a model's code in an interpreter for its conversation, without access to the machine or a network."""
