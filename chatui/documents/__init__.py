"""Reads files that people bring, as text: what each is, what it says page by page, and why it says nothing where it does not."""
