"""Documents on PostgreSQL."""
