"""The manifest names every file of cases and how many they are, and the page for implementers describes every kind."""

import json
import re

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


def test_each_case_names_rules_that_exist() -> None:
    sources = [case["source"] for name in manifest()["kinds"] if name != "text" for case in cases(name)]
    sources += [json.loads(path.read_text(encoding="utf-8"))["source"] for path in (HERE / "text").glob("*.json")]
    for page, named in ((PAGE.parent / "openchatml.md", r"rulings? ([\d, and]+)"), (PAGE.parent / "harmony.md", r"Reading ([\d, and]+)")):
        rules = set(re.findall(r"^(\d+)\. ", page.read_text(encoding="utf-8"), re.MULTILINE))
        found = {number for source in sources for match in re.findall(named, source) for number in re.findall(r"\d+", match)}
        assert found and found <= rules, (page.name, sorted(found - rules))


def test_the_page_for_implementers_describes_each_kind() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [name for name in manifest()["kinds"] if f"### `{name}`" not in page] == []
