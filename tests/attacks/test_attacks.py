"""A sample of the attacks in a real browser, in every way in which text reaches a page; and tests of the harness with HTML that attacks."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.attacks.attacks import own, sample
from tests.attacks.harness import MODES, Finding, attack, chromium
from tests.attacks.ways import WAYS
from tests.tools.chromium import find_headless, why_not

COUNT = {"a model's text, whole": 200, "a model's text, streamed": 30, "a model's text, wrapped": 50, "a person's text": 50}
SEED = 20_261_120

HONEST = """# Heading

A *word*, a **word**, ~~a word~~, `code`, H~2~O, <kbd>Esc</kbd>, [a link](https://example.org/a), ![a picture](https://example.org/b.png).[^1]
Mathematics: $a^2 + b^2$, \\(c\\), and

$$
\\int_0^1 x
$$

> Quoted

1. One
2. Two
   - [x] done
   - [ ] open

| Left | Right |
|:-----|------:|
| a    | b     |

```python
print("x")
```

!!! note "Mind"
    This.

[^1]: A footnote.
"""

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium's headless shell, which has the same HTML parser; ``make attack`` uses the full browser."""
    path = find_headless()
    assert path, why_not()
    with chromium(path) as started:
        yield started


@pytest.mark.parametrize("way", WAYS)
def test_no_attack_succeeds_and_ordinary_markdown_renders_within_the_policy(way: str, browser: Browser) -> None:
    chosen = sample(own(), COUNT.get(way, 130), SEED)
    pieces = list(dict.fromkeys(html for one in chosen for html in WAYS[way](one.text)))
    assert len(pieces) > len(chosen) // 2
    ordinary = list(WAYS[way](HONEST))
    assert not way.startswith("a model's") or any("math-dollars" in html for html in ordinary), "the premise: it is rendered as Markdown"
    assert list(attack(browser, [*ordinary, *pieces])) == []


@pytest.mark.parametrize("mode", MODES)
def test_the_harness_notices_a_script_in_each_mode(mode: str, browser: Browser) -> None:
    findings = list(attack(browser, ["<p>harmless</p>", "<img src=x onerror=alert(1)>"], [mode]))
    assert {"script", "request", "element", "attribute"} == {finding.kind for finding in findings}
    assert {finding.html for finding in findings} == {"<img src=x onerror=alert(1)>"}


@pytest.mark.parametrize(
    "attacks",
    [
        {
            "<img src=http://thief.test/x.png>": "request",
            "<style>@import 'http://thief.test/x.css'</style>": "request",
            "<link rel=stylesheet href=http://thief.test/x.css>": "request",
        },
        {
            "<svg onload=alert(1)></svg>": "script",
            "<iframe srcdoc='x'></iframe>": "element",
            "<p style='color:red'>x</p>": "attribute",
            "<p class='block sign-in-form'>x</p>": "class",
            "<a id=cookie>x</a>": "clobbering",
            "<a href='javascript:alert(1)'>x</a>": "scheme",
            "<a href='/c/1/delete/' rel='noopener noreferrer nofollow' target=_blank>x</a>": "scheme",
            "<a href='http://a.test'>x</a>": "rel",
            "<input type=text>": "element",
            "<!-- x -->": "node",
            "a\u202eb": "direction",
        },
    ],
    ids=["requests", "others"],
)
def test_the_harness_notices_each_kind_of_attack(attacks: dict[str, str], browser: Browser) -> None:
    findings = list(attack(browser, ["<p>harmless</p>", *attacks, "<p>harmless</p>"], ["document"]))
    assert {html: kind for html, kind in attacks.items() if kind not in {each.kind for each in findings if each.html == html}} == {}
    assert {finding.html for finding in findings} == {*attacks}


@pytest.mark.parametrize("html", ["</div></div><p>out</p>", "<textarea>"])
def test_the_harness_notices_markup_that_leaves_or_swallows_a_container(html: str, browser: Browser) -> None:
    kinds = {finding.kind for finding in attack(browser, ["<p>a</p>", html, "<p>b</p>"], ["document"])}
    assert kinds & {"escape", "script"}


def test_the_harness_accepts_harmless_html(browser: Browser) -> None:
    harmless = '<p>a <a href="http://a.test" rel="noopener noreferrer nofollow ugc" target="_blank">b</a></p>'
    findings: list[Finding] = list(attack(browser, [harmless, "<pre><code>x</code></pre>"]))
    assert findings == []
