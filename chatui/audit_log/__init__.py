"""What is recorded, in a chain that shows every later change, and how often it was repeated."""
