"""One back end at several addresses."""
