"""The permission fields of the admin pages: check boxes under headings, for the permissions that this product uses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django import forms
from django.contrib.auth.models import Permission
from django.db.models import Q, QuerySet
from django.forms.models import ModelChoiceIterator, ModelMultipleChoiceField
from django.http import HttpRequest
from django.utils.translation import gettext

from chatui.permissions import administration, catalogue


def grantable_permissions(request: HttpRequest) -> QuerySet[Permission]:
    """The permissions that the visitor can grant: those in the catalogue that they have."""
    meaningful = Q(pk__in=[])
    for name in catalogue.DESCRIPTIONS:
        app, codename = name.split(".")
        meaningful |= Q(content_type__app_label=app, codename=codename)
    return _with_type(administration.held_permissions(request.user).filter(meaningful))


class _GroupedIterator(ModelChoiceIterator):  # type: ignore[type-arg]
    def __iter__(self) -> Iterator[Any]:
        rows = {_name(row): row for row in self.queryset}
        for heading, names in catalogue.GROUPS.items():
            choices = [self.choice(rows[name]) for name in names if name in rows]
            if choices:
                yield gettext(heading), choices


class PermissionsField(ModelMultipleChoiceField):  # type: ignore[type-arg]
    """Check boxes under the headings of the catalogue, with its descriptions."""

    iterator = _GroupedIterator
    widget = forms.CheckboxSelectMultiple

    def label_from_instance(self, obj: Any) -> str:
        """The description of the permission."""
        return gettext(catalogue.DESCRIPTIONS[_name(obj)])


def _name(row: Permission) -> str:
    return f"{row.content_type.app_label}.{row.codename}"


def _with_type(rows: QuerySet[Permission]) -> QuerySet[Permission]:
    return rows.select_related("content_type")
