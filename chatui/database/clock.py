"""The database's clock, which all processes share even if the clocks of their machines differ."""

from __future__ import annotations

from datetime import timedelta

from django.db import connection
from django.db.models import DateTimeField, Expression, ExpressionWrapper
from django.db.models.functions import Now


def now() -> Expression:
    """The current time."""
    return Now()


def seconds_since_start() -> float:
    """How long the database server has been running; infinite for SQLite, which has no server. One statement."""
    if connection.vendor != "postgresql":
        return float("inf")
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXTRACT(EPOCH FROM now() - pg_postmaster_start_time())")
        return float(cursor.fetchone()[0])


def after(wait: timedelta) -> Expression:
    """The current time plus ``wait``."""
    return ExpressionWrapper(Now() + wait, output_field=DateTimeField())
