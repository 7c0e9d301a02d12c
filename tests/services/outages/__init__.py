"""PostgreSQL or Redis is stopped or stalls, with real servers."""
