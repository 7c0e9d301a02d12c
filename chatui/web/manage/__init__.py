"""The administration pages of the product. Each person sees the parts that they may use."""
