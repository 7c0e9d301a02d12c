"""Branding: the operator's own name, mark and accent colour instead of the product's."""
