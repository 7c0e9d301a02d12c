"""The event streams of a running turn, one for each audience. Nothing here does any I/O."""
