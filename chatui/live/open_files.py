"""Raises this process's limit on open files: many systems allow only 1,024, which idle connections alone can use up."""

from __future__ import annotations

import resource

MAX_OPEN_FILES = 65_536


def raise_limit() -> None:
    """Raise the limit to MAX_OPEN_FILES, or as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_OPEN_FILES if hard == resource.RLIM_INFINITY else min(MAX_OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
