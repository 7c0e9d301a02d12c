"""What programs may read: answers to their owner, and raw reasoning with a key that was given the permission."""
