"""The tables of programs that ask by a key: the keys, and the answers that they were given."""
