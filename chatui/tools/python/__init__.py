"""The tool ``python``: runs a model's code in the conversation's interpreter, without access to the machine or a network."""
