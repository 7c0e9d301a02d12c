"""What is kept of pages that models opened."""
