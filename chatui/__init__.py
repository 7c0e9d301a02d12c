"""The chat front end: one Django app and project, laid out in the order in which a message walks through it (ARCHITECTURE.md)."""

__version__ = "0.1.0"
