"""Finds the Python that the virtual environment is created with."""
