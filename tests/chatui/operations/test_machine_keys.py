"""A machine with other keys than the database recorded is refused; one with a new key and its predecessor is not."""

from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from chatui.models.audit import AuditEvent
from chatui.models.machine_keys import MachineKey
from chatui.operations import machine_keys
from chatui.operations.machine_keys import OtherKeysError
from tests.chatui.conftest import output_of
from tests.support import environment

pytestmark = pytest.mark.django_db

A, B, C = ("q" * 50, "w" * 50, "z" * 50)


def machine(monkeypatch: pytest.MonkeyPatch, **keys: Any) -> None:
    """From now on, this process is a machine with these keys."""
    none = {"secret_key": A, "sealing_key": "", "sealing_keys_before": [], "file_key": "", "file_keys_before": []}
    environment.change(monkeypatch, {**none, **keys})


def starts(monkeypatch: pytest.MonkeyPatch, **keys: Any) -> str:
    """Empty, or what a start with these keys is refused with."""
    machine(monkeypatch, **keys)
    try:
        machine_keys.require()
    except OtherKeysError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("first", "second", "refused"),
    [
        ({}, {}, []),
        ({}, {"secret_key": B}, ["secret_key", "sealing_key"]),
        ({"sealing_key": B}, {"sealing_key": C}, ["sealing_key"]),
        ({"sealing_key": B}, {}, ["sealing_key"]),
        ({}, {"sealing_key": B}, ["sealing_key"]),
        ({}, {"sealing_key": B, "sealing_keys_before": [A]}, []),
        ({"sealing_key": B}, {"sealing_key": C, "sealing_keys_before": [A, B]}, []),
        ({"sealing_key": B}, {"secret_key": C, "sealing_key": B}, ["secret_key"]),
        ({}, {"file_key": B}, []),
        ({"file_key": B}, {"file_key": C}, ["file_key"]),
        ({"file_key": B}, {}, ["file_key"]),
        ({"file_key": B}, {"file_keys_before": [B]}, []),
        ({"file_key": B}, {"file_key": C, "file_keys_before": [B]}, []),
        ({"file_key": B}, {"file_key": C, "file_keys_before": [A]}, ["file_key"]),
    ],
)
def test_a_machine_needs_each_key_that_was_used(
    first: dict[str, Any], second: dict[str, Any], refused: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert starts(monkeypatch, **first) == ""
    before = list(MachineKey.objects.order_by("name").values())
    said = starts(monkeypatch, **second)
    if refused:
        assert said.startswith(f"This machine has another {' and '.join(refused)} than the one that the database recorded.")
        assert f"CHATUI_{refused[0].upper()}" in said and "manage.py machine_keys --accept" in said
        assert list(MachineKey.objects.order_by("name").values()) == before
    else:
        assert said == "" and starts(monkeypatch, **second) == ""
    assert AuditEvent.objects.count() == (first != second and not refused), "one line for a key that takes the place of another"


def test_the_predecessor_is_refused_once_it_was_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    assert starts(monkeypatch, sealing_key=B) == ""
    assert starts(monkeypatch, sealing_key=C, sealing_keys_before=[B]) == ""
    assert "another sealing_key" in starts(monkeypatch, sealing_key=B)


def test_no_key_and_nothing_that_opens_with_it_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    starts(monkeypatch, sealing_key=B, file_key=C)
    stored = repr(list(MachineKey.objects.values()))
    assert not {A, B, C} & set(stored.split("'")) and len(set(MachineKey.objects.values_list("digest", flat=True))) == 3
    assert not any(key[:8] in stored for key in (A, B, C))


def test_the_operator_compares_and_accepts(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch)
    assert "secret_key: not recorded yet" in output_of("machine_keys")
    machine_keys.require()
    assert "secret_key: as recorded on " in output_of("machine_keys") and "file_key: none, as recorded" in output_of("machine_keys")
    machine(monkeypatch, secret_key=B, file_key=C)
    with pytest.raises(CommandError, match="another secret_key and sealing_key"):
        output_of("machine_keys")
    assert "Replaced: secret_key, sealing_key, file_key." in output_of("machine_keys", "--accept")
    assert "those of this machine" in output_of("machine_keys", "--accept")
    assert starts(monkeypatch, secret_key=B, file_key=C) == "" and "another secret_key" in starts(monkeypatch, file_key=C)
    lines = AuditEvent.objects.order_by("number").values_list("action", "way", "detail")
    assert list(lines) == [("machine key replaced", "shell", name) for name in ("secret_key", "sealing_key", "file_key")]


def test_a_key_that_was_generated_is_named_by_its_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert starts(monkeypatch) == ""
    said = starts(monkeypatch, secret_key="", data_dir=tmp_path)
    assert f"(the file {tmp_path / 'secret_key'}, or CHATUI_SECRET_KEY" in said
