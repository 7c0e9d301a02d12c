"""The built-in demo: scripted answers, to try the product without a model server."""
