"""The rooms of the code stay flat: no package is small, and a file name that stands in several rooms means the same noun in each.

The number of modules and folders is no gauge: a new noun gets a new file.
"""

from collections import Counter
from pathlib import PurePosixPath

from tests.architecture.sources import python_sources

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


def test_no_package_is_small() -> None:
    sizes = Counter(str(path.parent) for path in own_modules())
    small = {str(path.parent) for path in modules() if sizes[str(path.parent)] < MIN_MODULES}
    assert small == OF_DJANGO, f"a package with fewer than {MIN_MODULES} modules: put them into the package above"


def test_no_file_name_is_used_more_often() -> None:
    names = Counter(path.name for path in own_modules())
    assert names.most_common(1)[0][1] <= SAME_NAMES, f"name the file after what is in it alone: {names.most_common(5)}"
