"""The operator's instructions for members of groups: the syntax of the file, who gets them, and no error message quotes them."""

from pathlib import Path

import pytest

from chatui import instructions
from tests.support.environment import change
from tests.support.new_process import forget

TWO = '[groups]\nwriters = "Be kind."\n"Sales EU" = """\nBe brief.\nName no prices.\n"""\n'


def configure(monkeypatch: pytest.MonkeyPatch, place: Path, text: str | bytes, **more: object) -> None:
    place.write_bytes(text if isinstance(text, bytes) else text.encode())
    forget(instructions)
    change(monkeypatch, {"group_instructions_file": place} | more)


def test_members_get_theirs_after_those_for_everybody_in_the_order_of_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    configure(monkeypatch, tmp_path / "a.toml", TWO, instructions="For all.")
    assert instructions.group_instructions().problems == ()
    both = instructions.instructions_for(lambda: ["Sales EU", "writers", "others"])
    assert both == "For all.\n\nBe kind.\n\nBe brief.\nName no prices."
    assert instructions.instructions_for(lambda: ["writers"]) == "For all.\n\nBe kind."
    assert instructions.instructions_for(lambda: ["Writers"]) == "For all.", "names are exact"
    assert set(instructions.instruction_texts().values()) == {"For all.", "Be kind.", "Be brief.\nName no prices."}


def test_without_a_file_nobodys_groups_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def unread() -> list[str]:
        raise AssertionError

    change(monkeypatch, {"instructions": "For all."})
    assert instructions.instructions_for(unread) == "For all."


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[groups]\nwriters = "SECRET"\nothers = 5\n', "the group 'others' needs a text, in quotation marks"),
        ('[groups]\nwriters = "SECRET"\nothers = " "\n', "the group 'others' needs a text, in quotation marks"),
        ('[groups]\nwriters = "SECRET \\u0000"\n', "the group 'writers' needs a text, in quotation marks"),
        ('[group]\nwriters = "SECRET"\n', "there is no table or key 'group'; did you mean 'groups'?"),
        ('writers = "SECRET"\n', "there is no table or key 'writers'; known are: groups"),
        ('groups = "SECRET"\n', "groups must be a table, with a text for each group"),
        ("[groups]\nwriters = SECRET\n", "the file is not TOML: at line 2, column 11"),
        ("", "the table groups names no group"),
        (b"[groups]\nwriters = '\xff'", "the file is not UTF-8"),
    ],
)
def test_a_mistake_is_reported_without_quoting(text: str | bytes, problem: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    configure(monkeypatch, tmp_path / "a.toml", text)
    problems = instructions.group_instructions().problems
    assert problem in problems and "SECRET" not in repr(instructions.group_instructions())


def test_a_missing_file_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    change(monkeypatch, {"group_instructions_file": tmp_path / "none.toml"})
    assert instructions.group_instructions().problems == ("the file cannot be read (No such file or directory)",)
