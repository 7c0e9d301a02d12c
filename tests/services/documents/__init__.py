"""Documents over PostgreSQL."""
