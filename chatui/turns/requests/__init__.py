"""What may be asked of a turn besides what a page asks."""
