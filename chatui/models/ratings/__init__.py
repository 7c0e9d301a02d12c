"""The table of what people say of answers."""
