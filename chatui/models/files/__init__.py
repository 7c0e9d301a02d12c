"""Tables about files."""
