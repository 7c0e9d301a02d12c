"""The administration pages."""
