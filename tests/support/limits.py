"""Timers and limits of the product by their folder and name: which file of the folder has them is of no concern to a test."""

import re
import sys
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

from tests.support.places import ROOT


def limit(folder: str, name: str) -> Any:
    """The value of a constant in a folder, such as ``"chatui.live"``."""
    found = _owners(folder, name)
    assert len(found) == 1, f"{name} is defined in {len(found)} files of {folder}, and may be another thing in each: import it"
    return getattr(found[0], name)


def set_limits(patch: pytest.MonkeyPatch, folder: str, **values: object) -> None:
    """Give constants of a folder other values, wherever they are in it, for a test that cannot wait so long, or send so much."""
    for name, value in values.items():
        _owners(folder, name)
        for module in list(sys.modules.values()):
            if module.__name__.rpartition(".")[0] == folder and hasattr(module, name):
                patch.setattr(module, name, value)


def _owners(folder: str, name: str) -> list[ModuleType]:
    """The modules of the folder that define the constant."""
    defined = re.compile(rf"^{name}(?::.*)? = ", re.MULTILINE)
    files = sorted(ROOT.joinpath(*folder.split(".")).glob("*.py"))
    found = [path.stem for path in files if defined.search(path.read_text(encoding="utf-8"))]
    assert found, f"no file of {folder} defines {name}: if it was renamed, write its new name here"
    return [import_module(f"{folder}.{stem}") for stem in found]
