"""The chat front end: a Django project with one app. ARCHITECTURE.md follows a message through it."""

__version__ = "0.1.0"
