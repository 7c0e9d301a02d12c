"""What is told to whoever watches over the product: what it measures, and whether it can do its work."""
