"""Server processes that are killed, locked out of the database or out of disk space, with a counting model and people who read along."""
