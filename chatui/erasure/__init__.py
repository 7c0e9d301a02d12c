"""Permanently erases a person's account and data, and lists erasures, so that they can be repeated in a restored backup."""
