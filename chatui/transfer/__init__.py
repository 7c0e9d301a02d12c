"""Imports, downloads and share links: conversations and files enter and leave the product here."""
