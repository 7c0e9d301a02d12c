"""The values of a document header: which there can be, and how YAML writes them."""
