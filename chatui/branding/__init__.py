"""The operator's own name, mark and accent colour, in the place of the product's."""
