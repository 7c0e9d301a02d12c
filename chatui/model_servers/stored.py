"""The model servers that staff keep on the administration pages: how one is checked, saved, confirmed and removed.

Whoever may change them decides which servers receive what people write, so each change is recorded, and only somebody who may see hidden
channels decides where reasoning is sent. A key that was entered is stored sealed for the origin of its address (``connected``): with
another address it has to be entered again.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.contrib.auth.models import Group
from django.db import IntegrityError, transaction
from django.db.models import Max
from django.utils import timezone, translation
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.translation import gettext as _

from chatui.audit_log.record import Visitor, record
from chatui.backends.auto import AUTO
from chatui.backends.keys import KeyUnusableError
from chatui.backends.spec import SPEC_KINDS, BackendSpec, SpecError, find, is_model_name, split_choice
from chatui.env import environment
from chatui.model_servers import configured, connected, proofs
from chatui.model_servers.choice import models_of
from chatui.model_servers.proofs import PLACE_SETTINGS
from chatui.models.conversation import Effort
from chatui.models.model_servers import StoredBackend, Summaries
from chatui.outbound.addresses import address_problem, origin
from chatui.proxies import address_of
from chatui.site.languages import SOURCE

KINDS, EFFORTS, SUMMARIES = SPEC_KINDS, Effort.choices, Summaries.choices
_COLUMNS = {column.name: column for column in StoredBackend._meta.fields if column.editable}
COLUMNS = tuple(_COLUMNS)
"""What a form about a model server enters, beside its groups and its key."""
_KEY_LABEL = "key"
_LISTED_FIRST = ("address", "other settings", "wire format", _KEY_LABEL, "groups", "summaries", "summarizer")
_VALUE_CHARS = 80
_DESCRIPTION_CHARS = 180
_REDIRECTING = frozenset({"url", "kind", "other_settings", "key"})
MAX_POSITION = 32_767
_NOT_OF_NAMES = re.compile(r"[^A-Za-z0-9_.-]+")
STORED_KEY = "stored"
"""What a form hands on for a key that the table has, instead of a sealed one."""
_TESTED_SETTINGS = PLACE_SETTINGS | {"url", "more_urls", "models", "summaries"}
"""The settings that affect where and how questions are sent."""


@dataclass(frozen=True, slots=True)
class Entered:
    """What somebody entered. With neither ``key`` nor ``held``, the server has no key, whatever the table has."""

    columns: Mapping[str, Any]
    """The values of COLUMNS."""
    groups: Collection[Group]
    staff: str
    """Who enters it, by their row's key."""
    key: str = field(default="", repr=False)
    """Typed now; not in the repr."""
    held: str = field(default="", repr=False)
    """What the form said it holds: STORED_KEY, or a key typed before as ``held_key`` returned it; not in the repr."""


@dataclass(frozen=True, slots=True)
class Checked:
    """Valid settings that may be tested and saved."""

    spec: BackendSpec
    row: StoredBackend
    groups: Collection[Group]
    changed: frozenset[str]
    """The columns that differ from ``before``, with "groups" and "key"."""
    before: StoredBackend | None
    has_left_key: bool
    """Whether the form held a key for another address, which is not used for this one."""


class FaultySettingsError(ValueError):
    """``problems``: the column and a sentence for each mistake; the empty column for all together. No sentence quotes a key."""

    def __init__(self, *problems: tuple[str, str]) -> None:
        super().__init__("the settings of a model server are faulty")
        self.problems = problems


def find_row(name: str) -> StoredBackend | None:
    """The row of the model server of that name; None if there is none, or if the operator's own configuration replaces it."""
    if name in {known.name for known in configured.operator_backends(environment())}:
        return None
    return StoredBackend.objects.filter(name=name).first()


def spec_of(row: StoredBackend) -> BackendSpec | None:
    """The row as a spec, whether or not it is offered; None if it is faulty."""
    try:
        return configured.of_row(row, (group.name for group in row.groups.all()))
    except SpecError:
        return None


def problems_of(row: StoredBackend) -> tuple[str, ...]:
    """A sentence for each mistake in a row, which an earlier release or somebody in the shell may have left there."""
    try:
        configured.of_row(row, (group.name for group in row.groups.all()))
    except SpecError as error:
        return tuple(_placed(problem)[1] for problem in error.problems)
    return ()


def values_of(row: StoredBackend | None) -> dict[str, Any]:
    """The values that a form begins with: those of the model server, or of a new one."""
    if row is None:
        # The only one is the default anyway. Any other is not, until somebody says so.
        is_first = not StoredBackend.objects.exists() and not configured.operator_backends(environment())
        own = {"kind": AUTO, "position": _last_position(), "is_default": is_first}
        return {name: column.get_default() for name, column in _COLUMNS.items()} | own
    return {name: getattr(row, name) for name in COLUMNS} | {"groups": list(row.groups.all())}


def _last_position() -> int:
    """The position behind all others: a new model server comes last."""
    last = StoredBackend.objects.aggregate(last=Max("position"))["last"]
    return 0 if last is None else min(last + 1, MAX_POSITION)


def key_place(row: StoredBackend | None) -> str:
    """The origin that the key of this model server was entered for; empty without such a key."""
    return place_of(row.url) if row is not None and row.sealed_key else ""


def put_right(url: str) -> str:
    """What somebody most likely meant by an address that they typed or copied: with a scheme, and without the end of a call, such as
    /chat/completions. A name with dots gets https, so that no key travels openly unless somebody asks for that."""
    found = None if "://" in url else _BARE.fullmatch(url.strip())
    if found and (found["port"] or "." in found["host"] or found["host"] == "localhost"):
        is_named = "." in found["host"] and address_of(found["host"]) is None
        url = f"{'https' if is_named else 'http'}://{found[0]}"
    return _CALL.sub("", url.strip())


_BARE = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^/:@?#\s]+)(?P<port>:[0-9]+)?(?:/\S*)?", re.ASCII)
_CALL = re.compile(r"(?<=[^/])/+(?:chat/completions|completions|responses|models)/*$")


def place_of(url: str) -> str:
    """The origin of an address; empty if it has a mistake."""
    return "" if address_problem(url) else origin(url)


def proposed_name(*known: str) -> str:
    """A name that is not taken, after the first that is known, such as a product or model; never the address, as people see names."""
    base = _NOT_OF_NAMES.sub("-", next(filter(None, known), "")).strip("-.")[:50] or "server"
    taken = {known.name for known in configured.operator_backends(environment())}
    taken.update(StoredBackend.objects.values_list("name", flat=True))
    names = (base, *(f"{base}-{number}" for number in range(2, len(taken) + 3)))
    return next(name for name in names if name not in taken)


def held_key(typed: str, held: str, url: str, staff: str, before: StoredBackend | None) -> str:
    """The key that the form holds when it is sent back: a typed key, sealed for this address and this member of staff; else the one that it
    held before, if that is for this address. Empty: the form shows its field, and no key is used unless one is typed there."""
    if address_problem(url):
        return "" if typed else held
    if not typed and held == STORED_KEY:
        return held if key_place(before) == origin(url) else ""
    try:
        if typed:
            return connected.sealed(typed, url, staff)
        connected.unsealed(held, url, staff)
    except KeyUnusableError:
        return ""
    return held


def check(entered: Entered, before: StoredBackend | None, *, may_see_hidden: bool) -> Checked:
    """What was entered, as settings that may be tested and saved. ``before``: the row that it would change.

    Raises:
        FaultySettingsError: something is wrong with them.
    """
    row = StoredBackend(**entered.columns)
    if before is not None:
        row.pk, row.unconfirmed_by = before.pk, before.unconfirmed_by
        row.tested_at, row.tested_digest = before.tested_at, before.tested_digest
    row.sealed_key, has_left_key = _sealed_key(entered, row, before)
    try:
        spec = configured.of_row(row, (group.name for group in entered.groups))
    except SpecError as error:
        raise FaultySettingsError(*map(_placed, error.problems)) from None
    checked = Checked(spec, row, entered.groups, _changed(row, entered.groups, before), before, has_left_key)
    if problems := tuple(_problems(checked, may_see_hidden=may_see_hidden)):
        raise FaultySettingsError(*problems)
    return checked


def _sealed_key(entered: Entered, row: StoredBackend, before: StoredBackend | None) -> tuple[str, bool]:
    """The key for the row, sealed, and whether one that was held is not used: a key is only ever sent to the origin it was entered for.

    It is the entered key; else the one that the row had ``before``, or that a form holds, if the address still has that key's origin.
    """
    if address_problem(row.url):
        return "", False  # what is wrong with the address is said by the spec
    if entered.key:
        try:
            return connected.sealed(entered.key, row.url), False
        except KeyUnusableError as error:
            raise FaultySettingsError(("key", _("This key cannot be used: %(reason)s.") % {"reason": error})) from None
    if entered.held == STORED_KEY:
        return _stored_key(row, before)
    try:
        return connected.sealed(connected.unsealed(entered.held, row.url, entered.staff), row.url) if entered.held else "", False
    except KeyUnusableError:
        return "", True


def _stored_key(row: StoredBackend, before: StoredBackend | None) -> tuple[str, bool]:
    """The key that the row had before, and whether it is not used because the address has another origin now."""
    if before is None or not key_place(before):
        return "", False
    if key_place(before) != origin(row.url):
        return "", True
    try:
        connected.unsealed(before.sealed_key, row.url)
    except KeyUnusableError:
        words = _("The stored key can no longer be read, because CHATUI_SECRET_KEY has changed. Enter it again.")
        raise FaultySettingsError(("key", words)) from None
    return before.sealed_key, False


def _changed(row: StoredBackend, groups: Collection[Group], before: StoredBackend | None) -> frozenset[str]:
    if before is None:
        return frozenset({*COLUMNS, "groups", "key"})
    changed = {name for name in COLUMNS if getattr(row, name) != getattr(before, name)}
    changed |= {"groups"} if {group.pk for group in groups} != {group.pk for group in before.groups.all()} else set()
    return frozenset(changed | ({"key"} if row.sealed_key != before.sealed_key else set()))


def _problems(checked: Checked, *, may_see_hidden: bool) -> list[tuple[str, str]]:
    env, spec = environment(), checked.spec
    problems: list[tuple[str, str]] = []
    if spec.name in {known.name for known in configured.operator_backends(env)}:
        problems.append(("name", _("A model server with this name is configured outside these pages, and takes precedence.")))
    elif StoredBackend.objects.filter(name=spec.name).exclude(pk=checked.row.pk).exists():
        problems.append(("name", _("There is already a model server with this name.")))
    if spec.summarizer and find([*configured.combined(env, configured.rows()), spec], spec.summarizer) is None:
        problems.append(("summarizer", _("There is no such model server.")))
    if not may_see_hidden and checked.row.is_default and not (checked.before and checked.before.is_default):
        # Without the permission, whatever they save is offered to nobody until it is confirmed, and so would be the default.
        problems.append(("is_default", _("Only people who may see hidden channels can choose the default for new conversations.")))
    if not may_see_hidden and _redirects_reasoning(checked):
        words = _("Only people who may see hidden channels can set where reasoning is sent, or whose summaries choose the lines.")
        problems.append(("summaries", words))
    try:
        connected.key_of(spec)
    except KeyUnusableError as error:
        problems.append(("key_name", _("This key cannot be used: %(reason)s.") % {"reason": error}))
    return problems


def _redirects_reasoning(checked: Checked) -> bool:
    """Whether the change affects where reasoning is sent or whose summaries are read: only staff who may see reasoning may do that.

    A summarizer receives the whole chain of thought, and a server that writes summaries chooses what people read. Without the permission,
    nobody may choose either, or point such a row at their own server, or at their own account there. The built-in code sends nothing
    anywhere.
    """
    changed, spec = checked.changed, checked.spec
    goes_elsewhere = not changed.isdisjoint(_REDIRECTING)
    if spec.summaries in ("server", "model") and not changed.isdisjoint({"summaries", "summarizer"}):
        return True
    if spec.summaries == "server" and goes_elsewhere:
        return True
    names = {spec.name, *([checked.before.name] if checked.before else [])}
    may_affect_others = goes_elsewhere or not changed.isdisjoint({"name", "is_enabled"})
    return may_affect_others and not names.isdisjoint(_summarizers())


def _placed(problem: str) -> tuple[str, str]:
    """The problem with the column whose name its sentence begins with, and without that name; otherwise as it is, for all together."""
    name, _space, rest = problem.partition(" ")
    column = {"models": "model_names", **dict.fromkeys(configured.OTHER_SETTINGS, "other_settings")}.get(name, name.removesuffix(":"))
    is_of_column = column in COLUMNS and not rest.startswith(("=", "does"))
    words = rest if is_of_column and name not in configured.OTHER_SETTINGS else problem
    return column if column in COLUMNS else "", words[:1].upper() + words[1:] + ("" if words.endswith("?") else ".")


def save(visitor: Visitor, checked: Checked, *, may_see_hidden: bool) -> StoredBackend:
    """Create or change a model server, recorded. It counts as confirmed if somebody who may see hidden channels saves it; otherwise it is
    offered to nobody until such a person confirms it.

    Raises:
        FaultySettingsError: somebody else took the name in the meantime.
    """
    row, before = checked.row, checked.before
    if may_see_hidden:
        row.unconfirmed_by = ""
    elif checked.changed:
        row.unconfirmed_by = visitor.user.get_username() if visitor.user else ""
    try:
        with transaction.atomic():
            values_before = _values_by_label(before) if before else {}
            if row.is_default:
                _end_other_default(visitor, row)
            row.save(force_insert=before is None, force_update=before is not None)
            row.groups.set(checked.groups)
            if before is None:
                _record(visitor, row, "created", description(row))
            else:
                _record_changes(visitor, checked, values_before)
                _end_proofs(before, row)
            transaction.on_commit(connected.forget_rows)
    except IntegrityError:
        raise FaultySettingsError(("name", _("There is already a model server with this name."))) from None
    return row


def _end_other_default(visitor: Visitor, row: StoredBackend) -> None:
    """At most one model server is the default."""
    others = StoredBackend.objects.filter(is_default=True).exclude(pk=row.pk)
    for other in others:
        _record(visitor, other, "changed", "default for new conversations is now False")
    others.update(is_default=False)


def _record_changes(visitor: Visitor, checked: Checked, before: Mapping[str, str]) -> None:
    row = checked.row
    for name, value in _values_by_label(row).items():
        if before.get(name) != value or (name == _KEY_LABEL and "key" in checked.changed):
            _record(visitor, row, "changed", f"{name} is now {value or 'empty'}")
    if checked.before and row.unconfirmed_by != checked.before.unconfirmed_by:
        if row.unconfirmed_by:
            _record(visitor, row, "not confirmed", "offered to nobody until somebody who may see hidden channels confirms it")
        else:
            _record(visitor, row, "confirmed", row.url)


def settings_digest(spec: BackendSpec) -> str:
    """A digest of the key and of the settings that affect an examination, without revealing them."""
    try:
        key = connected.key_of(spec) or ""
    except KeyUnusableError:
        key = ""
    relevant = f"{spec.model_dump_json(include=_TESTED_SETTINGS)} {key}"
    return salted_hmac("chatui.examination", relevant, algorithm="sha256").hexdigest()


def passed_at(row: StoredBackend, spec: BackendSpec | None = None) -> datetime | None:
    """When a test of exactly these settings and this key passed, as the row knows it; None if none did. ``spec``: the settings, if they are
    not those of the row."""
    if spec is None:
        spec = spec_of(row)
    is_same = spec is not None and row.tested_at is not None and constant_time_compare(row.tested_digest, settings_digest(spec))
    return row.tested_at if is_same else None


def note_test(spec: BackendSpec, *, has_passed: bool) -> None:
    """Remember with the stored settings that a test of them passed, or that the last one did not. Nothing if they have changed since."""
    row = StoredBackend.objects.filter(name=spec.name).first()
    now_stored = spec_of(row) if row else None
    if row is not None and now_stored is not None and settings_digest(now_stored) == (digest := settings_digest(spec)):
        tested = {"tested_at": timezone.now(), "tested_digest": digest} if has_passed else {"tested_at": None, "tested_digest": ""}
        StoredBackend.objects.filter(pk=row.pk, changed_at=row.changed_at).update(**tested)


def set_offered(visitor: Visitor, row: StoredBackend, *, is_offered: bool, may_see_hidden: bool) -> StoredBackend:
    """Offer this model server to people, or pause it. As any other change: checked, recorded, and confirmed by whom it takes. Returns the
    changed row.

    Raises:
        FaultySettingsError: its settings are faulty, or only somebody who may see hidden channels may do this.
    """
    checked = _with(visitor, row, may_see_hidden=may_see_hidden, is_enabled=is_offered)
    return save(visitor, checked, may_see_hidden=may_see_hidden)


def set_models(
    visitor: Visitor, row: StoredBackend, names: Collection[str], listed: Sequence[str], *, may_see_hidden: bool
) -> StoredBackend:
    """Offer these models of the server; those that were named before keep their order. If they are those that it offers by itself,
    ``listed``, it also offers those that it gets later. A test says the same of it as before, unless another model is the default now.
    Otherwise as ``set_offered``."""
    names = list(filter(is_model_name, names))
    if not names:
        raise FaultySettingsError(("model_names", _("Tick at least one model, or pause the model server.")))
    before = spec_of(row)
    kept = [name for name in before.models if name in names] if before else []
    names = [] if set(names) == set(listed) else dict.fromkeys((*kept, *names))
    checked = _with(visitor, row, may_see_hidden=may_see_hidden, model_names="\n".join(names))
    if before is not None and passed_at(row, before) and (before.models or tuple(listed))[:1] == (checked.spec.models or tuple(listed))[:1]:
        checked.row.tested_digest = settings_digest(checked.spec)
    return save(visitor, checked, may_see_hidden=may_see_hidden)


def _with(visitor: Visitor, row: StoredBackend, *, may_see_hidden: bool, **columns: Any) -> Checked:
    values = values_of(row) | columns
    groups = values.pop("groups")
    staff = str(visitor.user.pk) if visitor.user else ""
    return check(Entered(values, groups, staff, held=STORED_KEY), row, may_see_hidden=may_see_hidden)


def confirm(visitor: Visitor, row: StoredBackend) -> None:
    """Confirm a change by somebody who may not see hidden channels, recorded. Only whoever may see them is let to this. Does nothing if the
    row is no longer what ``row`` is."""
    with transaction.atomic():
        waiting = StoredBackend.objects.select_for_update().filter(pk=row.pk, changed_at=row.changed_at).exclude(unconfirmed_by="").first()
        if waiting is not None:
            _record(visitor, waiting, "confirmed", f"after a change by {waiting.unconfirmed_by}: {waiting.url}")
            StoredBackend.objects.filter(pk=waiting.pk).update(unconfirmed_by="")
        transaction.on_commit(connected.forget_rows)


def remove(visitor: Visitor, row: StoredBackend) -> None:
    """Remove this model server, recorded, with what its models proved, as far as their names are known."""
    with transaction.atomic():
        _record(visitor, row, "deleted", row.url)
        _end_proofs(row)
        row.delete()
        transaction.on_commit(connected.forget_rows)


def _end_proofs(before: StoredBackend, now: StoredBackend | None = None) -> None:
    """Remove what the models of this server proved at addresses, with a key or with settings that it has no longer."""
    spec = spec_of(before)
    if spec is not None and (left := _places(before) - (_places(now) if now else set())):
        proofs.remove_of(left, {*spec.models, *(models_of(spec) or ()), *connected.separations(spec.name)})


def _places(row: StoredBackend) -> set[str]:
    """As ``proofs.places_of``; empty if nothing can be proved with these settings or this key."""
    with contextlib.suppress(KeyUnusableError):
        return proofs.places_of(spec, connected.key_of(spec)) if (spec := spec_of(row)) else set()
    return set()


@translation.override(SOURCE)
def description(row: StoredBackend) -> str:
    """A row in one line: whether it is confirmed, and then the values that differ from the defaults.

    The first values are those that affect where text is sent.
    """
    defaults = {str(field.verbose_name): str(field.get_default()) for field in StoredBackend._meta.fields}
    listed = {name: value for name, value in _values_by_label(row).items() if value != defaults.get(name, "") and name != "name"}
    parts = [f"{name} {value if len(value) <= _VALUE_CHARS else value[:_VALUE_CHARS] + '…'}" for name, value in listed.items()]
    parts.sort(key=lambda part: not part.startswith(_LISTED_FIRST))
    words = "waits for confirmation" if row.unconfirmed_by else "confirmed"
    while parts and len(words) + len(parts[0]) < _DESCRIPTION_CHARS:
        words += f"; {parts.pop(0)}"
    return f"{words}; and {len(parts)} more" if parts else words


def _summarizers() -> set[str]:
    """The names of the model servers that summarize reasoning, and so receive it, including rows that are switched off."""
    stored = StoredBackend.objects.exclude(summarizer="").values_list("summarizer", flat=True)
    return {
        split_choice(choice)[0]
        for choice in [*stored, *(spec.summarizer for spec in configured.operator_backends(environment()))]
        if choice
    }


@translation.override(SOURCE)
def _values_by_label(row: StoredBackend) -> dict[str, str]:
    """The row's values by their labels, in English like the rest of the audit log. None of them is a secret."""
    words = {str(column.verbose_name): " ".join(str(getattr(row, name)).split()) for name, column in _COLUMNS.items()}
    place = key_place(row)
    return words | {
        _KEY_LABEL: f"stored for {place}" if place else "",
        "groups": ", ".join(sorted(row.groups.values_list("name", flat=True))),
    }


def _record(visitor: Visitor, row: StoredBackend, what: str, detail: str) -> None:
    record(f"model server {what}", visitor, row.name, detail=detail)
