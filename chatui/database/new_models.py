"""Creates instances of models from the values of their columns, without calling a setter for each of them.

No ``pre_init`` or ``post_init`` signal is sent: nothing listens to them.
"""

from __future__ import annotations

import functools
from importlib import import_module
from typing import Any, TypeVar

from django.db import DEFAULT_DB_ALIAS
from django.db.models import Field, ForeignKey, Model

M = TypeVar("M", bound=Model)

# Importing it with a statement changes the order in which mypy's plugin for Django reads the models, and it then misses some of their
# reverse relations.
_State: Any = import_module("django.db.models.base").ModelState


def new_model(model: type[M], values: dict[str, Any]) -> M:
    """An instance that is not stored yet. ``values`` has all its columns, in their order, and belongs to the instance from now on."""
    if not _is_plain(model):
        return model(*values.values())
    found = model.__new__(model)
    values["_state"] = _State()
    found.__dict__ = values
    return found


def stored_model(model: type[M], values: dict[str, Any]) -> M:
    """An instance of a row that was read, as ``Model.from_db`` would return it: columns that are missing from ``values`` are deferred."""
    if not _is_plain(model):
        return model.from_db(DEFAULT_DB_ALIAS, list(values), list(values.values()))
    found = model.__new__(model)
    values["_state"] = state = _State()
    vars(state).update(adding=False, db=DEFAULT_DB_ALIAS)
    found.__dict__ = values
    return found


@functools.cache
def _is_plain(model: type[Model]) -> bool:
    """Whether the model's constructor and all its setters only store the values."""
    setters = {type(_attribute(model, field.attname)) for field in model._meta.concrete_fields}
    is_own = model.__init__ is not Model.__init__ or model.from_db.__func__ is not Model.from_db.__func__  # type: ignore[attr-defined]
    return setters <= {Field.descriptor_class, ForeignKey.descriptor_class} and not is_own


def _attribute(model: type[Model], name: str) -> object:
    """A class attribute, without calling it as a descriptor."""
    return next(vars(each)[name] for each in model.__mro__ if name in vars(each))
