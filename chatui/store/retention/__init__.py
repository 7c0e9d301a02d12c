"""How long hidden text is stored."""
