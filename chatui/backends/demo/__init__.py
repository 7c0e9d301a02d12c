"""The built-in demo: scripted answers, for trying the product without a model server."""
