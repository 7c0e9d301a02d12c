"""The tables about how people get in, beside the account itself."""
