"""Fills the tables with a row each, whose values follow from the definitions of the fields."""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import IntegrityError, models, transaction
from django.db.models.fields import NOT_PROVIDED

from chatui.audit_log.record import FIRST_HASH, HASHED_COLUMNS
from tests.support.audit_lines import digest_of

WORD = "zymurgy"
_NOW = datetime(2026, 11, 1, tzinfo=UTC)


def fill(apps: Any) -> dict[str, int]:
    """Create one row in each table of ``apps``, and a second where the table accepts it. Returns the number of rows of each table."""
    found = list(apps.get_app_config("chatui").get_models())
    for model in found:
        try:
            _row(model)
        except IntegrityError:
            if not model._base_manager.exists():
                raise
    return {model.__name__: model._base_manager.count() for model in found}


def _row(model: Any) -> Any:
    special = _SPECIAL.get(model.__name__)
    values = special(model) if special else {}
    for field in model._meta.local_concrete_fields:
        if field.name not in values and field.attname not in values:
            value = _value(field)
            if value is not NOT_PROVIDED:
                values[field.name] = value
    with transaction.atomic():
        return model._base_manager.create(**values)


def _value(field: Any) -> Any:
    if field.is_relation:
        return _related(field)
    if field.primary_key and isinstance(field, models.UUIDField):
        return uuid.uuid4()
    if field.has_default() or isinstance(field, models.AutoField):
        return NOT_PROVIDED
    if field.choices:
        return next(iter(field.choices))[0]
    return next((make_value(field) for kind, make_value in _MADE.items() if isinstance(field, kind)), NOT_PROVIDED)


def _related(field: Any) -> Any:
    model = field.related_model
    if model is field.model:
        return None
    if field.unique or not model._base_manager.exists():
        return _row(model) if not field.null or field.unique else None
    return model._base_manager.order_by("pk").last()


def _text(field: Any) -> str:
    return f"{WORD} {uuid.uuid4().hex}"[: field.max_length]


_MADE: dict[type, Any] = {
    models.UUIDField: lambda field: uuid.uuid4(),
    models.BooleanField: lambda field: False,
    models.DateTimeField: lambda field: _NOW + timedelta(days=20_000),
    models.DateField: lambda field: _NOW.date(),
    models.IntegerField: lambda field: 1,
    models.FloatField: lambda field: 1.0,
    models.DecimalField: lambda field: 1,
    models.JSONField: lambda field: {WORD: 1},
    models.BinaryField: lambda field: WORD.encode(),
    models.CharField: _text,
    models.TextField: _text,
}


def _audit_line(model: Any) -> dict[str, Any]:
    """The values of the next line of the audit chain; the database refuses any other line."""
    last = model._base_manager.order_by("-number").values_list("number", "hash").first() or (0, FIRST_HASH)
    values = {
        **dict.fromkeys(HASHED_COLUMNS, ""),
        "number": last[0] + 1,
        "at": _NOW,
        "action": WORD,
        "previous_hash": last[1],
        "actor_id": None,
        "conversation_id": None,
    }
    return {**values, "hash": digest_of([values[column] for column in HASHED_COLUMNS])}


def _message(model: Any) -> dict[str, Any]:
    return {"position": model._base_manager.count()}


_SPECIAL: dict[str, Any] = {
    "AuditEvent": _audit_line,
    "Message": _message,
    "Turn": lambda model: {"state": "completed"},
    "UsageLimit": lambda model: {"person": None},  # of a group or a person, not both
}
