"""Pages about where conversations stand: the archive, the bin and folders."""
