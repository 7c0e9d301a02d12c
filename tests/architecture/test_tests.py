"""Tests are found where what they test is found: their folders are those of the product."""

from pathlib import PurePosixPath

from tests.architecture.sources import python_sources


def folders() -> set[str]:
    """The folders of tests."""
    return {str(PurePosixPath(source.path).parent) for source in python_sources("tests/") if not source.path.endswith("/__init__.py")}


def test_each_folder_of_unit_tests_is_named_after_a_package_of_the_product() -> None:
    packages = {str(PurePosixPath(source.path).parent) for source in python_sources("chatui/", "renderer/")}
    unit_folders = [folder.removeprefix("tests/") for folder in folders() if folder.startswith(("tests/chatui", "tests/renderer"))]
    assert len(unit_folders) > 20, "the premise"
    assert [folder for folder in unit_folders if folder not in packages] == [], "move the tests to the folder of what they test"
