"""Tests against real PostgreSQL, real Redis and several real server processes."""
