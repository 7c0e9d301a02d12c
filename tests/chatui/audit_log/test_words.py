"""The audit log in the language of a page: each action that is recorded has words, and details are said as far as they follow a pattern."""

import ast

import pytest
from django.utils import translation

from chatui.accounts import api_keys, sign_in
from chatui.audit_log import words
from chatui.display import system
from chatui.lifecycle import closed_accounts, closing, erasure, scim_tokens
from chatui.operations import backups, moving, restoring
from chatui.permissions import debug_views, programs, ratings
from chatui.site.languages import LANGUAGES, SOURCE
from chatui.transfer import files
from tests.support.places import ROOT

NAMED = {
    *(api_keys.CREATED, api_keys.REVOKED, api_keys.REVOKED_BY_ADMIN, api_keys.CREATED_FOR_ACCOUNT, api_keys.REVOKED_WITH_PASSWORD),
    *(api_keys.REVOKED_WITH_ACCOUNT, sign_in.SIGNED_IN, sign_in.SIGNED_OUT, sign_in.REFUSED, sign_in.PASSWORD_REFUSED),
    *(system.PURGE, system.PURGE_ENDED, closed_accounts.HANDED_OVER, closed_accounts.CHOSEN, closed_accounts.UNCHOSEN),
    *(closing.CLOSED, closing.REOPENED, closing.REFUSED, closing.SIGNED_OUT, closing.TURNED_AWAY, erasure.ACTION, files.DOWNLOAD_ACTION),
    *(scim_tokens.MADE, scim_tokens.REVOKED, scim_tokens.REFUSED, backups.ACTION, moving.ACTION, restoring.ACTION),
    *(debug_views.NOT_LISTED, programs.READ, programs.ASKED, ratings.EXPORT, ratings.HIDDEN_EXPORT),
}
_FIRST, _LAST = ("record", "RepeatedAction", "opened"), ("hidden_channels",)
_KEYS = {"stranger"}
"""What is no action, but the key of a throttle."""


def written() -> set[str]:
    """The actions that stand as text in the code."""
    found = set()
    for path in (ROOT / "chatui").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                given = [*(node.args[:1] if name in _FIRST else ()), *(node.args[-1:] if name in _LAST else ())]
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


def _english(detail: str) -> str:
    """In English a page shows what is recorded, but for values that the log writes as a program does."""
    return detail.replace("now False", "now no")
