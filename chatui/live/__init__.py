"""A page's socket: commands in, events out, one way to close; and the server under it. Holds only what has passed the gate."""
