"""The API over several processes."""
