"""Exports of the audit log: every hashed column of the selected lines, oldest first, and no cell that a spreadsheet would calculate."""

from __future__ import annotations

import csv
import json
from io import StringIO

import pytest

from chatui.audit_log import lines as files
from chatui.audit_log.lines import Filters
from chatui.audit_log.record import HASHED_COLUMNS, SHELL, Visitor, digest_of, record
from chatui.models.audit import AuditEvent
from chatui.models.conversation import Conversation
from chatui.models.user import User

COLUMNS = [*HASHED_COLUMNS, "hash"]


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        *((f"{sign}1+1", f"'{sign}1+1") for sign in ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")),
        ("  =1+1", "'  =1+1"),
        ("1=1", "1=1"),
        ("", ""),
        (-1, -1),
        (None, None),
    ],
)
def test_no_text_becomes_a_formula(value: object, cell: object) -> None:
    assert files.safe_cell(value) == cell


def test_a_row_is_quoted_where_it_must_be() -> None:
    assert files.csv_row(["a", 'b "c"', "d,e", None, 7]) == 'a,"b ""c""","d,e",,7\r\n'


@pytest.mark.django_db
def test_both_formats_have_all_columns_of_the_selected_lines_the_oldest_first(ada: User, conversation: Conversation) -> None:
    for detail in ("=first", "Zoë"):
        record("act", Visitor(ada, "192.0.2.7", "page"), conversation, detail=detail)
    record("other", SHELL)
    selected = Filters(action="act")
    read = [json.loads(line) for line in files.FORMATS["jsonl"](selected)]
    assert [list(line) for line in read] == [COLUMNS] * 2
    assert [(line["number"], line["detail"], line["actor_id"]) for line in read] == [(1, "=first", str(ada.pk)), (2, "Zoë", str(ada.pk))]
    row = AuditEvent.objects.get(number=2)
    assert read[1]["at"] == row.at.isoformat() and read[1]["conversation_id"] == str(conversation.pk)
    assert digest_of([read[1][name] for name in HASHED_COLUMNS]) == read[1]["hash"] == row.hash, "the file can be verified by itself"
    cells = list(csv.reader(StringIO("".join(files.FORMATS["csv"](selected)), newline="")))
    assert cells[0] == COLUMNS and [dict(zip(COLUMNS, line, strict=True))["detail"] for line in cells[1:]] == ["'=first", "Zoë"]
    assert cells[2] == [str(value) for value in read[1].values()]
    assert "".join(files.FORMATS["jsonl"](selected)).count("\n") == 2
