"""The manifest names every file of cases and how many they are, and the page for implementers describes every kind."""

from __future__ import annotations

from tests.conformance.cases import HERE, cases, kind, manifest

PAGE = HERE.parents[1] / "docs/conformance.md"


def test_the_manifest_says_which_cases_these_are() -> None:
    read = manifest()
    assert (read["format"], read["version"], read["specification"]) == ("openchatml-conformance-cases", 1, "2.2")


def test_each_file_of_cases_is_in_the_manifest_with_the_number_of_its_cases() -> None:
    kinds = manifest()["kinds"]
    files = {entry["file"] for name, entry in kinds.items() if name != "text"}
    assert files == {path.name for path in HERE.glob("*.json")} - {"manifest.json"}
    assert kinds["text"]["cases"] == len(list((HERE / kinds["text"]["directory"]).glob("*.ocml")))
    for name, entry in kinds.items():
        if name != "text":
            assert kind(name)["kind"] == name
            assert entry["cases"] == len(cases(name)), name


def test_each_case_says_what_it_shows() -> None:
    for name in manifest()["kinds"]:
        if name == "text":
            continue
        found = cases(name)
        assert len({case["name"] for case in found}) == len(found), name
        for case in found:
            assert case["shows"].endswith(".") and case["source"], (name, case["name"])


def test_the_page_for_implementers_describes_each_kind() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [name for name in manifest()["kinds"] if f"### `{name}`" not in page] == []
