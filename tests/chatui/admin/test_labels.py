"""The columns on admin pages have labels of their own: a label made from a column's name would be English in every language."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth.models import Group
from django.core.exceptions import FieldDoesNotExist
from django.db.models import Field, Model
from django.test import RequestFactory
from django.utils.functional import Promise

from chatui.models.user import User


def test_every_column_on_an_admin_page_has_a_label_that_is_translated(grace: User) -> None:
    found = {
        f"{model.__name__}.{name}": has_label
        for model, page in admin.site._registry.items()
        if model is not Group
        for name, has_label in _columns(page, grace).items()
    }
    assert len(found) > 40
    assert [name for name, has_label in found.items() if not has_label] == []


def _columns(page: admin.ModelAdmin[Model], person: User) -> dict[str, bool]:
    """The columns that the list and the form of a model show, each with whether it has a label."""
    request = RequestFactory().get("/")
    request.user = person
    form = page.get_form(request).base_fields
    labelled = {name for name, field in form.items() if isinstance(field.label, Promise)}
    shown = {str(name) for name in (*page.get_list_display(request), *form, *page.get_readonly_fields(request))}
    return {name: name in labelled or isinstance(column.verbose_name, Promise) for name in shown if (column := _column(page.model, name))}


def _column(model: type[Model], name: str) -> Field[object, object] | None:
    """The column of this name, unless it is the key, which Django calls ID."""
    try:
        field = model._meta.get_field(name)
    except FieldDoesNotExist:
        return None
    return field if isinstance(field, Field) and not field.primary_key else None
