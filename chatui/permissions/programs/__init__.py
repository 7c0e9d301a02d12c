"""Permissions of programs: they may read their owner's answers, and raw reasoning if their API key has that permission."""
