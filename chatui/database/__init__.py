"""How asynchronous code uses the database: bounded pools of threads, one writer for each process, and the database's own clock."""
