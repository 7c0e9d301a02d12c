"""Server processes that are killed, locked out or out of room, with people who read along and a model that counts."""
