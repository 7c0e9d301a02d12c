"""What programs may read: their owner's answers, and raw reasoning with a key that has the permission."""
