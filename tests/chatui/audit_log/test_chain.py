"""The integrity of the audit log: what an attacker with database access can do, and what ``audit verify`` reports."""

import io
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction

from chatui.audit_log import chain
from chatui.audit_log.chain import ChainHead
from chatui.audit_log.record import FIRST_HASH, Visitor, record
from chatui.models.audit import AuditEvent
from chatui.models.keys import new_key
from chatui.models.user import User
from tests.chatui.audit_log.triggers import without_triggers
from tests.support.audit_lines import digest

pytestmark = pytest.mark.django_db

LINES = 12


@pytest.fixture
def recorded_head(grace: User) -> ChainHead:
    """A log of twelve lines, and its head as somebody noted it."""
    for number in range(LINES):
        record(f"act {number + 1}", Visitor(grace, "192.0.2.7", "page"), detail="for a reason")
    head = chain.head()
    assert head and head.number == LINES
    return head


def sql(statement: str, *values: str | int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)


def tampered(*statements: str) -> None:
    with without_triggers():
        for statement in statements:
            sql(statement)


def rewritten(first: int) -> None:
    """Recompute every hash from a line on, as somebody who knows the product would."""
    with without_triggers():
        lines = list(AuditEvent.objects.order_by("number"))
        previous = FIRST_HASH
        for line in lines:
            if line.number >= first:
                line.previous_hash = previous
                line.hash = digest(line)
                sql("UPDATE chatui_auditevent SET previous_hash = %s, hash = %s WHERE number = %s", previous, line.hash, line.number)
            previous = line.hash


def verify(*arguments: str) -> tuple[int, str]:
    out = io.StringIO()
    try:
        call_command("audit", "verify", *arguments, stdout=out)
    except SystemExit as ended:
        return int(str(ended.code)), out.getvalue()
    return 0, out.getvalue()


def test_an_unchanged_log_is_intact_and_its_head_is_printed(recorded_head: ChainHead) -> None:
    code, output = verify()
    assert (code, output) == (0, f"The log is intact: 12 lines. Head: --number 12 --head {recorded_head.hash}\n")
    assert verify("--number", "12", "--head", recorded_head.hash)[0] == 0
    assert verify("--number", "12", "--head", recorded_head.hash.upper())[0] == 0


def test_verification_without_a_noted_head_gives_a_warning(recorded_head: ChainHead) -> None:
    for arguments, is_warned in (((), True), (("--number", str(recorded_head.number), "--head", recorded_head.hash), False)):
        out, err = io.StringIO(), io.StringIO()
        call_command("audit", "verify", *arguments, stdout=out, stderr=err)
        assert ("WARNING: THE LOG WAS NOT COMPARED" in err.getvalue()) == is_warned
        assert "The log is intact" in out.getvalue()


def test_an_empty_log_is_intact_unless_a_head_was_noted() -> None:
    assert verify() == (0, "The log is intact: 0 lines. It is empty.\n")
    code, output = verify("--number", "12", "--head", "0" * 64)
    assert code == 1 and "Line 12: It was noted but does not exist" in output


def test_lines_after_the_noted_head_are_fine(recorded_head: ChainHead, grace: User) -> None:
    record("later", Visitor(grace, "", "page"))
    assert verify("--number", "12", "--head", recorded_head.hash)[0] == 0


@pytest.mark.parametrize("column", ["at", "detail"])
def test_a_line_that_was_edited_is_found(column: str, recorded_head: ChainHead) -> None:
    tampered(f"UPDATE chatui_auditevent SET {column} = '2020-01-01 00:00:00' WHERE number = 7")
    code, output = verify()
    assert code == 1 and output.startswith("Line 7: It does not match its hash: it was changed after it was written.\n"), output
    assert output.count("Line ") == 1


def test_an_edited_line_with_a_matching_hash_breaks_the_chain_after_it(recorded_head: ChainHead) -> None:
    tampered("UPDATE chatui_auditevent SET actor_name = 'somebody else' WHERE number = 7")
    line = AuditEvent.objects.get(number=7)
    tampered(f"UPDATE chatui_auditevent SET hash = '{digest(line)}' WHERE number = 7")
    code, output = verify()
    assert code == 1 and output.startswith("Line 8: It does not follow the line before it"), output


def test_a_chain_rewritten_from_an_edited_line_on_is_found_only_by_the_noted_head(recorded_head: ChainHead) -> None:
    tampered("UPDATE chatui_auditevent SET actor_name = 'somebody else' WHERE number = 7")
    rewritten(7)
    assert verify()[0] == 0, "the premise: a chain without an anchor proves nothing against somebody who can write all of it"
    code, output = verify("--number", "12", "--head", recorded_head.hash)
    assert code == 1 and "Line 12: Its hash differs from the one that was noted" in output


@pytest.mark.parametrize(
    ("which", "expected"), [("= 1", "Line 1 is missing"), ("= 5", "Line 5 is missing"), ("BETWEEN 5 AND 8", "Lines 5 to 8 are missing")]
)
def test_deleted_lines_leave_a_gap_that_is_reported(which: str, expected: str, recorded_head: ChainHead) -> None:
    tampered(f"DELETE FROM chatui_auditevent WHERE number {which}")
    code, output = verify()
    assert code == 1 and expected in output and output.count("Line") == 2, output


def test_a_deleted_line_whose_gap_was_closed_is_found(recorded_head: ChainHead) -> None:
    tampered(
        "DELETE FROM chatui_auditevent WHERE number = 5",
        *(f"UPDATE chatui_auditevent SET number = {n - 1} WHERE number = {n}" for n in range(6, 13)),
    )
    code, output = verify()
    assert code == 1 and output.startswith("Line 5: "), output


def test_an_inserted_line_is_found(recorded_head: ChainHead) -> None:
    line = AuditEvent.objects.get(number=12)
    tampered(*(f"UPDATE chatui_auditevent SET number = {n + 1} WHERE number = {n}" for n in range(12, 4, -1)))
    line.id, line.number, line.actor_name = new_key(), 5, "invented"
    line.previous_hash = AuditEvent.objects.get(number=4).hash
    line.hash = digest(line)
    with without_triggers():
        line.save(force_insert=True)
    code, output = verify()
    assert code == 1 and output.startswith("Line 6: "), output


def test_two_swapped_lines_are_found(recorded_head: ChainHead) -> None:
    tampered(
        "UPDATE chatui_auditevent SET number = 99 WHERE number = 5",
        "UPDATE chatui_auditevent SET number = 5 WHERE number = 6",
        "UPDATE chatui_auditevent SET number = 6 WHERE number = 99",
    )
    code, output = verify()
    assert code == 1 and output.startswith("Line 5: "), output


def test_a_cut_off_end_is_found_only_by_the_noted_head(recorded_head: ChainHead) -> None:
    tampered("DELETE FROM chatui_auditevent WHERE number > 8")
    assert verify()[0] == 0, "the premise: what is left is a whole chain"
    code, output = verify("--number", "12", "--head", recorded_head.hash)
    assert code == 1 and "Line 12: It was noted but does not exist: the end of the log was cut off." in output


def test_all_problems_are_counted_and_the_first_are_listed(grace: User) -> None:
    for _ in range(30):
        record("act", Visitor(grace, "", "page"))
    tampered("UPDATE chatui_auditevent SET actor_name = 'x'")
    code, output = verify()
    assert code == 1 and output.startswith("Line 1: ") and output.count("It does not match its hash") == 20 and "And 10 more." in output


def test_a_head_without_its_number_is_a_usage_error() -> None:
    for arguments in (["--head", "0" * 64], ["--number", "3"]):
        with pytest.raises(CommandError) as refused:
            call_command("audit", "verify", *arguments)
        assert refused.value.returncode == 2


def test_the_head_is_printed_in_the_form_that_verify_accepts(recorded_head: ChainHead) -> None:
    out = io.StringIO()
    call_command("audit", "head", stdout=out)
    assert verify(*out.getvalue().split())[0] == 0


CHANGES = [
    "UPDATE chatui_auditevent SET detail = 'x' WHERE number = 3",
    "UPDATE chatui_auditevent SET detail = detail",
    "DELETE FROM chatui_auditevent WHERE number = 12",
    "DELETE FROM chatui_auditevent",
    "INSERT OR REPLACE INTO chatui_auditevent SELECT * FROM chatui_auditevent WHERE number = 3",
    "REPLACE INTO chatui_auditevent SELECT * FROM chatui_auditevent WHERE number = 12",
    "UPDATE OR REPLACE chatui_auditevent SET number = 4 WHERE number = 5",
    (
        "INSERT INTO chatui_auditevent (id, number, at, code, action, way, actor_name, owner_name, address, detail, previous_hash, hash) "
        "VALUES ('00000000000070008000000000000000', 0, '2020-01-01', '', 'x', 'x', '', '', '', '', '', '')"
    ),
]


@pytest.mark.parametrize("statement", CHANGES)
def test_the_database_itself_refuses_to_change_remove_or_replace_a_line(statement: str, recorded_head: ChainHead) -> None:
    before = list(AuditEvent.objects.order_by("number").values())
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        sql(statement)
    assert list(AuditEvent.objects.order_by("number").values()) == before


def test_the_database_accepts_the_next_line(recorded_head: ChainHead, grace: User) -> None:
    assert record("next", Visitor(grace, "", "page")).number == 13


@pytest.mark.parametrize("name", ["chatui_audit_no_update", "chatui_audit_no_delete", "chatui_audit_only_append"])
def test_a_missing_trigger_is_reported(name: str, recorded_head: ChainHead) -> None:
    assert verify()[0] == 0, "the premise"
    sql(f"DROP TRIGGER {name}")
    code, output = verify()
    assert code == 1 and output.startswith(f"The database does not refuse changes to the log: the trigger {name} is missing.")


def test_verification_needs_constant_memory(
    recorded_head: ChainHead, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Callable[..., AbstractContextManager[object]]
) -> None:
    monkeypatch.setattr(chain, "CHUNK_LINES", 3)
    with django_assert_num_queries(2):  # the lines, as a stream, and the triggers
        assert chain.verify().lines == LINES
