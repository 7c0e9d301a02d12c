"""Database access from asynchronous code: bounded thread pools, one writer for each process, and the database's own clock."""
