"""Imports, downloads and share links: moves conversations into and out of the product."""
