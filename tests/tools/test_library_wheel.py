"""The library's wheel, installed outside of the checkout: it needs what it declares and no more, and its command reads its own cases."""

import json
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest

from tests.support.places import ROOT

pytestmark = pytest.mark.served

PACKAGING = tomllib.loads((ROOT / "deploy" / "library.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PACKAGING["optional-dependencies"]
USUAL = {"PATH": "/usr/bin:/bin", "HOME": "/nowhere", "LANG": "C.UTF-8"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("library")
    subprocess.run([sys.executable, "-m", "deploy.library", str(directory)], cwd=ROOT, check=True)
    (built,) = directory.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def alone(wheel: Path) -> Path:
    """The directory of the programs of an environment with the library and what it always needs."""
    return installed(wheel, PACKAGING["dependencies"])


def installed(wheel: Path, requirements: list[str]) -> Path:
    """An environment beside the wheel that has it, and of the packages of the tests only those required, with what they require."""
    top = wheel.parent / ("with" + re.sub(r"\W+", "-", "".join(requirements)))
    venv.create(top, symlinks=True, with_pip=False)
    (place,) = top.glob("lib/python3.*/site-packages")
    for needed in closure(requirements):
        for name in {path.parts[0] for path in needed.files or () if path.parts[0] not in ("..", "__pycache__")}:
            (place / name).symlink_to(str(needed.locate_file(name)))
    python = top / "bin" / "python"
    subprocess.run([sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel], check=True)
    return python.parent


def closure(requirements: list[str]) -> list[Distribution]:
    """The distributions that are required, and those that these require without an extra."""
    found: dict[str, Distribution] = {}
    while requirements:
        required, *requirements = requirements
        name = re.match(r"[\w.-]+", required)
        if name and "extra ==" not in required and name[0].lower() not in found:
            found[name[0].lower()] = distribution(name[0])
            requirements += found[name[0].lower()].requires or []
    return list(found.values())


def run(program: Path, *arguments: str, **options: object) -> "subprocess.CompletedProcess[str]":
    """Run it far from the checkout."""
    command = [str(program), *arguments]
    return subprocess.run(command, cwd="/", env=USUAL, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]


def test_it_has_its_licence_types_readme_and_no_file_of_the_product(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (metadata,) = (archive.read(name).decode() for name in names if name.endswith("/METADATA"))
        (licence,) = (name for name in names if name.endswith("/licenses/LICENSE"))
        assert archive.read(licence) == (ROOT / "LICENSE").read_bytes()
    assert {name.split("/")[0] for name in names} == {"openchatml", licence.split("/")[0]}
    assert "openchatml/py.typed" in names
    assert "pip install openchatml" in metadata and "from openchatml.ocml import" in metadata and "from renderer" not in metadata


def test_it_declares_the_ranges_of_the_product() -> None:
    product = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert {*PACKAGING["dependencies"], *(line for extra in EXTRAS.values() for line in extra)} <= {*product["project"]["dependencies"]}
    assert PACKAGING["requires-python"] == product["project"]["requires-python"]


def test_its_command_reads_its_published_cases(alone: Path) -> None:
    cases = Path(run(alone / "openchatml", "cases").stdout.strip())
    assert cases.is_relative_to(alone.parent), cases
    counted = json.loads((cases / "manifest.json").read_text(encoding="utf-8"))["kinds"]
    assert len(list((cases / "text").glob("*.ocml"))) == counted["text"]["cases"]
    assert all(
        len(json.loads((cases / kind["file"]).read_text(encoding="utf-8"))["cases"]) == kind["cases"]
        for kind in counted.values()
        if "file" in kind
    )
    checked = 0
    for text in sorted((cases / "text").glob("*.ocml"))[::12]:
        case = json.loads(text.with_suffix(".json").read_text(encoding="utf-8"))
        fragment = ["--fragment"] if case.get("fragment") else []
        done = run(alone / "openchatml", "check", "--json", *fragment, str(text))
        said = json.loads(done.stdout)
        assert (said["accepted"], done.returncode) == (case["accepted"], 0 if case["accepted"] else 1), text.name
        assert [(problem["code"], problem["offset"]) for problem in said["problems"]] == [
            (problem["code"], problem["offset"]) for problem in case["problems"]
        ], text.name
        checked += 1
    assert checked >= 30


def test_the_examples_of_its_readme_hold(alone: Path) -> None:
    (metadata,) = alone.parent.glob("lib/*/site-packages/openchatml-*.dist-info/METADATA")
    examples = re.findall(r"```python\n(.*?)```", metadata.read_text(encoding="utf-8"), re.DOTALL)
    assert len(examples) == 2
    for example in examples:
        done = run(alone / "python", "-c", example)
        assert done.returncode == 0, done.stderr


IMPORTS = """
import importlib, pkgutil, sys, openchatml
for module in pkgutil.walk_packages(openchatml.__path__, "openchatml."):
    if module.name != "openchatml.__main__" and module.name.startswith(tuple(sys.argv[1:])):
        importlib.import_module(module.name)
assert not {"django", "renderer", "chatui"} & sys.modules.keys()
"""


@pytest.mark.parametrize(
    ("extra", "also"), [("harmony", "from tiktoken import Encoding; from openai_harmony import ToolNamespaceConfig"), ("markup", "")]
)
def test_each_part_needs_what_its_extra_declares(wheel: Path, extra: str, also: str) -> None:
    python = installed(wheel, [*PACKAGING["dependencies"], *EXTRAS[extra]]) / "python"
    done = run(python, "-c", IMPORTS + also, f"openchatml.{extra}")
    assert done.returncode == 0, done.stderr


def test_the_rest_needs_neither_extra(alone: Path) -> None:
    done = run(alone / "python", "-c", IMPORTS, "openchatml.ocml", "openchatml.harmony", "openchatml.activities", "openchatml.gate")
    assert done.returncode == 0, done.stderr


def test_it_stands_beside_the_product(alone: Path) -> None:
    """The product's own copy is another package, so an environment can have both."""
    names = {path.name for path in next(alone.parent.glob("lib/*/site-packages")).iterdir()}
    product = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert not names & {*product["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]}
    assert not PACKAGING["scripts"].keys() & product["project"]["scripts"].keys()
