"""Moving conversations out of and into the product: downloads, share links, imports."""
