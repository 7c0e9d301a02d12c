"""The rooms of the code stay few and flat: gauges that may only fall.

Each test fails if its figure is higher than its constant, and also if it is lower, so that the constant is lowered in the same commit and
what has been gained is not lost again.
"""

from collections import Counter
from pathlib import PurePosixPath

from tests.architecture.sources import python_sources

FOLDERS = 50
MODULES = 485
"""With those that only name a package, and without migrations, which Django writes."""
SAME_NAMES = 6
"""How often one file name may occur, apart from ``__init__.py``: six rooms have a file of the same noun."""

MIN_MODULES = 4
OF_DJANGO = {
    "chatui/management",
    "chatui/site/formats",
    "chatui/site/formats/de",
    "chatui/site/formats/en",
    "chatui/site/formats/ko",
    "chatui/site/formats/zh_Hans",
}
"""The only packages with fewer than MIN_MODULES modules of their own: Django prescribes their places and contents."""


def modules() -> list[PurePosixPath]:
    """The product's Python files, without migrations."""
    return [PurePosixPath(source.path) for source in python_sources() if not source.is_in("chatui/migrations/")]


def own_modules() -> list[PurePosixPath]:
    """Those that do not only name a package."""
    return [path for path in modules() if path.name != "__init__.py"]


def test_no_folder_is_added() -> None:
    assert_unchanged("FOLDERS", len({path.parent for path in modules()}), FOLDERS)


def test_no_module_is_added() -> None:
    assert_unchanged("MODULES", len(modules()), MODULES)


def test_no_package_is_small() -> None:
    sizes = Counter(str(path.parent) for path in own_modules())
    small = {str(path.parent) for path in modules() if sizes[str(path.parent)] < MIN_MODULES}
    assert small == OF_DJANGO


def test_no_file_name_is_used_more_often() -> None:
    names = Counter(path.name for path in own_modules())
    assert names.most_common(1)[0][1] <= SAME_NAMES, names.most_common(5)


def assert_unchanged(name: str, found: int, constant: int) -> None:
    assert found <= constant, f"{found - constant} more than {name}: put it into the file of its noun, or merge two that are read together"
    assert found == constant, f"fewer than before: lower {name} to {found}"
