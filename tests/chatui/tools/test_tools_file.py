"""The tools file: its format, and that mistakes are never quoted and do not affect other entries."""

import json
from pathlib import Path
from typing import Any

import pytest

from chatui.tools.remote.definition import McpSpec, fixed_files, read_file
from tests.support import environment
from tests.support.cases import for_each
from tests.support.system_checks import said

GOOD = """
[[openapi]]
name = "wiki"
url = "https://wiki.example/api/"
document = "wiki.yaml"
operations = ["searchPages"]
seconds = 5
[openapi.headers]
Authorization = { file = "secrets/wiki", prefix = "Bearer " }
[openapi.labels]
searchPages = "Searching the wiki for {q}"
"""


def parsed(text: str, directory: Path) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    """The servers that are used, and what is wrong with the others."""
    (directory / "tools.toml").write_text(text)
    found = read_file(directory / "tools.toml")
    return found.servers, found.problems


def test_a_table_is_a_server_and_its_files_are_relative_to_it(tmp_path: Path) -> None:
    (wiki,), problems = parsed(GOOD, tmp_path)
    assert not problems
    assert (wiki.name, wiki.url, str(wiki.headers["Authorization"].file)) == (
        "wiki",
        "https://wiki.example/api",
        str(tmp_path / "secrets/wiki"),
    )
    assert wiki.model_dump()["document"] == tmp_path / "wiki.yaml"


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ('name = "Wiki-1"', 'name = "wiki"'),
        ('name = "wiki"\nnmae = "SECRET"', 'name = "wiki"'),
        ('url = "https://user:SECRET@wiki.example"', 'url = "https://wiki.example/api/"'),
        ('url = "https://wiki.example/?key=SECRET"', 'url = "https://wiki.example/api/"'),
        ('url = "file:///SECRET"', 'url = "https://wiki.example/api/"'),
        ("operations = []", 'operations = ["searchPages"]'),
        (f"operations = {[str(n) for n in range(30)]}", 'operations = ["searchPages"]'),
        ("seconds = 0", "seconds = 5"),
        ("seconds = true", "seconds = 5"),
        ('Authorization = "SECRET"', 'Authorization = { file = "secrets/wiki", prefix = "Bearer " }'),
        ('Authorization = { value = "SECRET", env = "X" }', 'Authorization = { file = "secrets/wiki", prefix = "Bearer " }'),
        ('"A b" = { value = "SECRET" }', 'Authorization = { file = "secrets/wiki", prefix = "Bearer " }'),
        ('url = "SECRET', 'url = "https://wiki.example/api/"'),
        ("[openapi.lables]\nSECRET = 1", "[openapi.labels]"),
    ],
)
def test_a_mistake_is_reported_without_quoting_the_file(wrong: str, right: str, tmp_path: Path) -> None:
    assert right in GOOD
    servers, problems = parsed(GOOD.replace(right, wrong), tmp_path)
    assert not servers and problems
    assert all("SECRET" not in problem or "lables" in wrong for problem in problems)


def test_one_invalid_table_does_not_affect_the_others(tmp_path: Path) -> None:
    servers, problems = parsed(GOOD + '[[openapi]]\nname = "other"\n' + GOOD + "[[other]]\n", tmp_path)
    assert [server.name for server in servers] == ["wiki"] and len(problems) > 3


@for_each([b"\xff\xfe", b"= = ="])
def test_an_invalid_file_is_reported(data: bytes) -> None:
    path = Path("/dev/shm/tools-file-of-a-test.toml")
    path.write_bytes(data)
    try:
        assert read_file(path).problems
    finally:
        path.unlink()
    assert read_file(path).problems == ("the file cannot be read (No such file or directory)",)


@pytest.mark.parametrize("written", ['sessions = "everybody"', "sessions = true", "programs = 0", "programs = true", 'programs = "many"'])
def test_who_shares_state_is_one_of_three_and_by_default_nobody(written: str, tmp_path: Path) -> None:
    table = '[[mcp]]\nname = "notes"\nurl = "https://notes.example/mcp"\ntools = ["keep"]\n'
    (server,), _ = parsed(table, tmp_path)
    assert isinstance(server, McpSpec) and server.sessions == "conversation"
    servers, problems = parsed(table + written, tmp_path)
    assert not servers and written.split()[0] in problems[0]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ({"command": ["npx", "-y", "server-memory"]}, ["MEMORY_FILE_PATH, which is not set"]),
        ({"command": ["memory"], "environment": {"FILE": {"value": "{here}/kept.db"}}}, ["FILE"]),
        ({"command": ["memory"], "environment": {"FILE": {"value": "{here}/new.jsonl"}}}, ["FILE"]),
        ({"command": ["memory", "--db={here}/kept.db", "{here}/kept"]}, ["argument 1", "argument 2"]),
        ({"command": ["memory", "{here}/gone/new.jsonl", "{here}", "./run.py", "https://x.example/a.json"]}, []),
        ({"command": ["python", "{here}/serve.py"]}, []),
        ({"command": ["memory"], "environment": {"FILE": {"value": "{session}/kept.db"}}}, []),
        ({"command": ["memory", "{here}/kept.db"], "sessions": "shared"}, []),
    ],
)
def test_a_program_whose_people_share_a_fixed_file_is_warned_about(table: dict[str, Any], expected: list[str], tmp_path: Path) -> None:
    for name in ("kept.db", "kept", "serve.py"):
        (tmp_path / name).write_text("")
    here = json.loads(json.dumps(table).replace("{here}", str(tmp_path)))
    assert fixed_files(McpSpec.model_validate({"name": "kept", "tools": ["add"], **here})) == expected


@pytest.mark.django_db
def test_the_check_names_the_server_and_what_is_shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "tools.toml"
    file.write_text('[[mcp]]\nname = "memory"\ncommand = ["npx", "server-memory"]\ntools = ["add"]\n')
    environment.change(monkeypatch, {"tools_file": file})
    [found] = said("W034")
    assert "memory: people share" in found.msg and "MEMORY_FILE_PATH" in found.msg
