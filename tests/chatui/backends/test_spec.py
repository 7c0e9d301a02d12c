"""The configuration of a model server, and the error messages for mistakes in it."""

from pathlib import Path
from typing import Any

import pytest

from chatui.backends.spec import SpecError, check_spec, find, split_choice
from chatui.backends.spec_file import SpecFile, read_file
from chatui.env import BASE_DIR

GOOD: dict[str, Any] = {"name": "small", "url": "http://127.0.0.1:8080/v1"}


def problems(**changes: object) -> tuple[str, ...]:
    with pytest.raises(SpecError) as caught:
        check_spec(GOOD | changes)
    return caught.value.problems


def parse_specs(text: str, directory: Path) -> SpecFile:
    (directory / "models.toml").write_text(text, encoding="utf-8")
    return read_file(directory / "models.toml")


def test_the_name_and_the_address_are_enough() -> None:
    spec = check_spec(GOOD)
    assert (spec.shown, spec.kind, spec.models, spec.groups, spec.effort, spec.summaries) == ("small", "auto", (), (), "medium", "built-in")
    assert (spec.limits().first, spec.limits().idle, spec.limits().overall) == (300.0, 60.0, 1800.0)


def test_every_setting_is_accepted() -> None:
    spec = check_spec(
        {
            "name": "large-1.b_c",
            "label": "Large, for long work",
            "kind": "responses",
            "url": "https://api.example.org",
            "key_env": "ACME_KEY",
            "models": ["gpt-oss-120b", "gpt-oss-20b"],
            "effort": "high",
            "first_token_seconds": 20,
            "idle_seconds": 5.5,
            "overall_seconds": 600,
            "max_answer_tokens": 4096,
            "groups": ["research"],
            "summaries": "model",
            "summarizer": "small/tiny",
        }
    )
    assert (spec.shown, spec.models, spec.limits().idle) == ("Large, for long work", ("gpt-oss-120b", "gpt-oss-20b"), 5.5)
    assert spec.limits(connect=1.0).connect == 1.0
    assert hash(spec) == hash(spec.model_copy()), "backends are cached by their specs"


def test_the_demo_needs_no_address() -> None:
    assert check_spec({"name": "demo", "kind": "demo"}).is_demo
    assert problems(kind="demo") == ("url: the demo has no address",)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": ""}, "name must be 1 to 60 letters"),
        ({"name": "a/b"}, "name must be"),
        ({"name": "a" * 61}, "name must be"),
        ({"name": 7}, "name must be a text in quotes"),
        ({"label": "a\nb"}, "label must be"),
        ({"kind": "chatt"}, "there is no kind 'chatt'; did you mean 'chat'?"),
        ({"kind": "telepathy"}, "known are: auto, chat, responses"),
        ({"url": ""}, "url is missing"),
        ({"url": "localhost:8080"}, "url must begin with http:// or https://"),
        ({"url": "ftp://host"}, "url must begin with"),
        ({"url": "https://me:secret@host"}, "url must hold no user name or password"),
        ({"url": "https://host/?key=1"}, "url must have neither ? nor #"),
        ({"url": "http://a b"}, "url must be a plain address"),
        ({"key_env": "sk-abc"}, "key_env must be the name of an environment variable"),
        ({"key_name": "sk-abc"}, "key_name must be capital letters"),
        ({"key_env": "A", "key_file": "b"}, "key_env and key_file cannot be given together"),
        ({"models": "one"}, 'models must be a list, such as ["one", "two"]'),
        ({"models": [""]}, "models must be names"),
        ({"models": ["a", "a"]}, "models names a model twice"),
        ({"models": [1]}, "must be a text in quotes"),
        ({"effort": "hgh"}, "effort: input should be 'low', 'medium' or 'high'"),
        ({"idle_seconds": 0}, "idle_seconds: input should be greater than 0"),
        ({"overall_seconds": "60"}, "overall_seconds must be a number"),
        ({"max_answer_tokens": -1}, "max_answer_tokens: input should be greater than or equal to 0"),
        ({"groups": "all"}, "groups must be a list"),
        ({"summaries": "yes"}, "summaries: input should be 'none', 'built-in', 'server' or 'model'"),
        ({"summaries": "model"}, "summarizer is missing"),
        ({"summarizer": "small"}, 'summarizer does nothing without summaries = "model"'),
        ({"summaries": "server", "summarizer": "small"}, "summarizer does nothing"),
        ({"summaries": "server", "kind": "harmony"}, "needs kind chat or responses"),
        ({"ur": "http://x"}, "there is no key 'ur'; did you mean 'url'?"),
    ],
)
def test_a_mistake_is_reported_with_its_remedy(changes: dict[str, object], words: str) -> None:
    assert any(words in problem for problem in problems(**changes)), problems(**changes)


def test_a_key_in_the_wrong_place_is_not_repeated() -> None:
    secret = "sk-proj-7261"
    for field in ("key_env", "key_name", "effort", "summaries", "name", "models", "idle_seconds"):
        assert secret not in " ".join(problems(**{field: f"{secret} !"}))


def test_several_back_ends_keep_the_order_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "backends.toml"
    file.write_text(
        '[[backend]]\nname = "b"\nurl = "http://b"\nkey_file = "key"\n[[backend]]\nname = "a"\nkind = "demo"\n', encoding="utf-8"
    )
    found = read_file(file)
    assert [spec.name for spec in found.specs] == ["b", "a"] and found.problems == ()
    assert found.specs[0].key_file == str(tmp_path / "key"), "next to the file, wherever the product was started from"


def test_the_example_in_the_documentation_is_valid(tmp_path: Path) -> None:
    page = (BASE_DIR / "docs" / "back-ends" / "several.md").read_text(encoding="utf-8")
    example = page.split("```toml\n")[1].split("```")[0]
    found = parse_specs(example, tmp_path)
    assert found.problems == () and len(found.specs) > 2


@pytest.mark.parametrize(
    "lines",
    ["", 'summaries = "none"\n', 'summaries = "server"\nsummarizer = "b"\n'],
)
def test_a_file_of_an_earlier_version_still_works_and_what_does_nothing_any_more_is_reported(lines: str, tmp_path: Path) -> None:
    found = parse_specs(f'[[backend]]\nname = "a"\nurl = "http://a"\n{lines}summary_review = true\n', tmp_path)
    assert [spec.name for spec in found.specs] == ["a"] and found.problems == ()
    (words,) = found.retired
    assert words.startswith("[[backend]] a: summary_review does nothing any more")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[backend]\n", "the file is not TOML: at line 1, column 10"),
        ('[[backend]]\nkey = "SECRET\n', "the file is not TOML: at line 2, column 14"),
        ("", "there is no [[backend]] in it"),
        ('[[backends]]\nname="a"\n', "did you mean 'backend'?"),
        ('[backend]\nname="a"\n', "two brackets"),
        ('backend = ["a"]\n', "two brackets"),
        ('[[backend]]\nname="a"\nurl="http://a"\n[[backend]]\nname="a"\nurl="http://b"\n', "[[backend]] a: the name is given twice"),
        ('[[backend]]\nurl="http://a"\n', "[[backend]] 1: name is missing"),
    ],
)
def test_mistakes_in_a_file_are_reported(text: str, words: str, tmp_path: Path) -> None:
    assert any(words in problem for problem in parse_specs(text, tmp_path).problems)


def test_one_invalid_back_end_does_not_affect_the_others(tmp_path: Path) -> None:
    found = parse_specs('[[backend]]\nname="a"\nurl="x"\n[[backend]]\nname="b"\nurl="http://b"\n', tmp_path)
    assert [spec.name for spec in found.specs] == ["b"] and len(found.problems) == 1


def test_an_unreadable_file_is_reported_in_a_sentence(tmp_path: Path) -> None:
    assert read_file(tmp_path / "none.toml").problems == ("the file cannot be read (No such file or directory)",)
    (tmp_path / "latin.toml").write_bytes(b"# \xe9\n")
    assert read_file(tmp_path / "latin.toml").problems == ("the file is not UTF-8",)


def test_a_choice_names_a_back_end_and_optionally_a_model() -> None:
    small, large = check_spec(GOOD), check_spec(GOOD | {"name": "large"})
    assert split_choice("large/org/model-7b") == ("large", "org/model-7b")
    assert split_choice("large") == ("large", None)
    assert find([small, large], "") is None, "no order of model servers decides"
    assert find([small, large], "large/x") is large
    assert find([small, large], "larg") is None and find([], "") is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"query": {"api_key": "x"}}, "must hold no key"),
        ({"query": {"a": "two\nlines"}}, "must be names and texts"),
        ({"key_header": "Host"}, "must be the name of a header"),
        ({"key_header": "x: y"}, "must be the name of a header"),
        ({"proxy": "http://user:p@ss@proxy:3128"}, "needs @, / and : in a password as %40, %2F and %3A"),
        ({"proxy": "http://user:pass@"}, "proxy"),
        ({"proxy": "https://proxy:3128"}, "must begin with http://"),
        ({"sampling": {"heat": 1}}, "has no field 'heat'"),
        ({"sampling": {"temperature": 9}}, "temperature from 0 to 2"),
        ({"model_sampling": {"m": {"top_p": 2}}}, "top_p from 0 to 1"),
        ({"certificate_key_file": "x"}, "does nothing without certificate_file"),
    ],
)
def test_mistakes_in_routing_and_sampling_are_reported(changes: dict[str, Any], words: str) -> None:
    assert any(words in problem for problem in problems(**changes)), problems(**changes)
    assert "pass" not in str(problems(**changes)).replace("password", "")


def test_a_models_sampling_overrides_its_back_ends() -> None:
    spec = check_spec(
        GOOD | {"sampling": {"temperature": 0.7, "seed": 1}, "model_sampling": {"a": {"temperature": 0}}, "models": ["a", "b"]}
    )
    assert spec.sampling_of("a") == spec.sampling_of(None) == {"temperature": 0, "seed": 1}
    assert spec.sampling_of("b") == {"temperature": 0.7, "seed": 1}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"more_urls": ["ftp://x"]}, "has an address that must begin with http"),
        ({"more_urls": ["http://a", "http://a"]}, "names an address twice"),
        ({"more_urls": [GOOD["url"]]}, "names url a second time"),
        ({"more_urls": ["http://a"], "key_name": "ACME"}, "bound to one origin"),
        ({"more_urls": ["http://a"], "url": ""}, "needs url"),
    ],
)
def test_mistakes_in_several_addresses_are_reported(changes: dict[str, Any], words: str) -> None:
    assert any(words in problem for problem in problems(**changes)), problems(**changes)


@pytest.mark.parametrize(
    "tools", [[{"name": "x"}], [{"type": ""}], [{"type": 7}], [{"type": "function", "name": "x"}], [{"type": "x" * 61}]]
)
def test_server_tools_are_tables_with_a_type_and_no_functions(tools: list[Any]) -> None:
    (problem,) = problems(kind="responses", server_tools=tools)
    assert problem.startswith("server_tools must be ")


def test_server_tools_need_a_wire_format_that_supports_them() -> None:
    tools = [{"type": "web_search"}, {"type": "code_interpreter", "container": {"type": "auto"}}]
    assert list(check_spec(GOOD | {"kind": "responses", "server_tools": tools}).server_tools) == tools
    for kind in ("auto", "chat", "harmony"):
        assert any('server_tools needs kind = "responses"' in problem for problem in problems(kind=kind, server_tools=tools))


def test_whether_a_server_separates_reasoning_is_proved_unless_the_operator_says_so() -> None:
    assert check_spec(GOOD).separates == "proved"
    assert [check_spec(GOOD | {"separates": value}).separates for value in ("always", "never reasons")] == ["always", "never reasons"]
    assert any("separates" in problem for problem in problems(separates="sometimes"))


@pytest.mark.parametrize("changes", [{"kind": "harmony"}, {"kind": "responses"}, {"summaries": "model", "summarizer": "small"}])
def test_omitting_reasoning_needs_a_wire_format_that_supports_it(changes: dict[str, Any]) -> None:
    assert any("ask_for_reasoning = false" in problem for problem in problems(ask_for_reasoning=False, **changes))
    assert not check_spec(GOOD | {"ask_for_reasoning": False}).ask_for_reasoning
