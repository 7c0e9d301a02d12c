"""What a deployment of the tests has before its first page: a database with tables, static files, and accounts."""
