"""What each audience sees of a running turn, as numbered events. Nothing here does any I/O."""
