"""The pages about usage."""
