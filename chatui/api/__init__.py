"""/v1 for programs: two formats in, the same turns, two formats out. Holds only what has passed the gate."""
