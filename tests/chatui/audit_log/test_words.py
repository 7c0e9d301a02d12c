"""The audit log in the language of a page: each action that is recorded has words, and details are said as far as they follow a pattern."""

import ast
import re

import pytest
from django.utils import translation

from chatui.accounts import api_keys, sign_in
from chatui.audit_log import words
from chatui.display import system
from chatui.lifecycle import closed_accounts, closing, erasure, scim_tokens
from chatui.operations import backups, moving, restoring
from chatui.permissions import attempts, programs, ratings
from chatui.site.languages import LANGUAGES, SOURCE
from chatui.transfer import files
from tests.support.places import ROOT

NAMED = {
    *(api_keys.CREATED, api_keys.REVOKED, api_keys.REVOKED_BY_ADMIN, api_keys.CREATED_FOR_ACCOUNT, api_keys.REVOKED_WITH_PASSWORD),
    *(api_keys.REVOKED_WITH_ACCOUNT, sign_in.SIGNED_IN, sign_in.SIGNED_OUT, sign_in.REFUSED, sign_in.PASSWORD_REFUSED),
    *(system.PURGE, system.PURGE_ENDED, closed_accounts.HANDED_OVER, closed_accounts.CHOSEN, closed_accounts.UNCHOSEN),
    *(closing.CLOSED, closing.REOPENED, closing.REFUSED, closing.SIGNED_OUT, closing.TURNED_AWAY, erasure.ACTION, files.DOWNLOAD_ACTION),
    *(scim_tokens.MADE, scim_tokens.REVOKED, scim_tokens.REFUSED, backups.ACTION, moving.ACTION, restoring.ACTION),
    *(attempts.NOT_LISTED, programs.READ, programs.ASKED, ratings.EXPORT, ratings.HIDDEN_EXPORT),
}
_FIRST, _LAST = ("record", "RepeatedAction"), ("hidden_channels",)
_KEYS = {"stranger"}
"""What is no action, but the key of a throttle."""


def written() -> set[str]:
    """The actions that stand as text in the code."""
    found = set()
    for path in (ROOT / "chatui").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                is_page = name == "opened" and path.parent.name == "web"  # elsewhere what is opened is a connection, or sealed
                given = [*(node.args[:1] if name in _FIRST or is_page else ()), *(node.args[-1:] if name in _LAST else ())]
                given += [each.value for each in node.keywords if each.arg == "action" and path.parent.name != "commands"]
                found |= {each.value for each in given if isinstance(each, ast.Constant) and isinstance(each.value, str)}
    return found


def test_each_action_has_words() -> None:
    assert len(written()) > 50, "the premise"
    assert (written() | NAMED) - _KEYS <= set(words.ACTIONS)


@pytest.mark.parametrize("code", [code for code in LANGUAGES if code != SOURCE])
def test_no_action_and_no_way_stays_english(code: str) -> None:
    with translation.override(code):
        same = [each for each in words.ACTIONS if words.action_in_words(each) == each]
        same += [each for each in words.WAYS if words.way_in_words(each) == each]
    assert set(same) <= {"server", "socket"}  # German has the same words but for their capitals


def test_a_detail_is_said_clause_by_clause_and_what_somebody_entered_stays() -> None:
    details = {
        "confirmed; address http://a; wire format auto; and 2 more": "bestätigt; Adresse http://a; Übertragungsformat auto; und 2 weitere",
        "enabled is now False": "eingeschaltet ist jetzt: nein",
        "key is now empty": "Schlüssel ist jetzt leer",
        "15 min: confirmed; joined group x": "15 Min.: confirmed; joined group x",
        "15 min, approved by kim: why": "15 Min., genehmigt von kim: why",
        "address is now http://127.0.0.1:8080": "Adresse ist jetzt http://127.0.0.1:8080",
        "für andere 100% %(value)s": "für andere 100% %(value)s",
        "has another e-mail address now, says the directory of corp": "hat jetzt eine andere E-Mail-Adresse, laut Verzeichnis von corp",
        "by staff, before: says the directory of corp": "durch das Personal, zuvor: laut Verzeichnis von corp",
        "ck_1, for 30 days, reads raw reasoning, tools: browser": "ck_1, für 30 Tage, liest rohe Überlegungen, Werkzeuge: browser",
        "by corp: not in an admitted group; 2 sessions ended, keys and share links rest": (
            "über corp: in keiner zugelassenen Gruppe; 2 Sitzungen beendet, Schlüssel und Freigabelinks ruhen"
        ),
        "": "",
    }
    counts = {
        "3 × page, 1 × whole download; from 20 or more networks; last 10:14:03": (
            "3 × Debug-Ansicht: Seite, 1 × ganz heruntergeladen, aus 20 oder mehr Netzen, zuletzt 10:14:03"
        ),
        "so far 12 more; last 2026-11-20 10:14:03": "bisher 12 weitere, zuletzt 2026-11-20 10:14:03",
        "nothing was shown": "nichts wurde gezeigt",
    }
    with translation.override("de"):
        assert {each: words.detail_in_words(each) for each in details} == details
        assert {each: words.counts_in_words(each) for each in counts} == counts
    with translation.override(SOURCE):
        assert {each: words.detail_in_words(each) for each in details} == {each: _english(each) for each in details}


COMPOSED = {"3 min3: 3", "for 3 days, 3", "made by 3, 3"}
"""Details with a value that is said or left out by itself; with each such value they have words."""


def test_each_detail_that_stands_in_the_code_has_words() -> None:
    details = set()
    for path in (ROOT / "chatui").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in ("record", "_record"):
                details |= {_sample(each.value) for each in node.keywords if each.arg == "detail"}
    assert len(details) > 30, "the premise"
    with translation.override("de"):
        said = {each for each in details if words.detail_in_words(each) != each or not re.search("[a-z]{3}", each)}
    assert details - said == COMPOSED


def _sample(node: ast.expr) -> str:
    """The text of an expression, with 3 for each of its values."""
    if isinstance(node, ast.JoinedStr):
        return "".join(_sample(each) for each in node.values)
    return str(node.value) if isinstance(node, ast.Constant) else "3"


def _english(detail: str) -> str:
    """In English a page shows what is recorded, but for values that the log writes as a program does."""
    return detail.replace("now False", "now no")
