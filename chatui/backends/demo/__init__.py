"""The built-in demo: scripted answers, so that the product can be tried without a model server."""
