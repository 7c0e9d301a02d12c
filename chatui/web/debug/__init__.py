"""The pages of the debug view."""
