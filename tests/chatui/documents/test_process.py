"""The sandboxed process that reads files: it can do nothing else on this machine, and without confinement no file is read."""

import pytest

from chatui.documents import reading
from chatui.documents.kinds import HiddenPart, NoTextReason, UnreadThing
from chatui.documents.reading import FileReading, ReadingState, TextPart, read
from chatui.sandbox import ProcessLimits
from tests.chatui.documents import samples
from tests.chatui.documents.worker import change_program, unconfined
from tests.support.system_checks import said

ON_ANOTHER_PROCESSOR = "import os; named = os.uname_result([*os.uname()[:4], 'vax']); os.uname = lambda: named; "
FINDS_ITS_CODE = "import sys; sys.path.insert(0, sys.argv.pop(1)); "


@pytest.mark.slow
def test_the_sandbox_blocks_everything_and_bombs_end() -> None:
    assert reading.faults() == []


def test_without_the_filter_all_of_it_would_succeed(monkeypatch: pytest.MonkeyPatch) -> None:
    change_program(monkeypatch, unconfined)
    found = " ".join(reading.escapes())
    for way in (
        "read a file",
        "list a directory",
        "open a socket",
        "open a local socket",
        "start a process",
        "start a program",
        "send a signal",
    ):
        assert way in found, "the attempts would succeed, so that they prove something"


async def test_without_confinement_nothing_is_read(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(reading, "read_confined", lambda *given: FileReading(reason=NoTextReason.UNAVAILABLE))
    reading.is_confined.cache_clear()
    try:
        found = await read("a.html", b"<p>x")
    finally:
        reading.is_confined.cache_clear()
    assert (found.state, found.reason) == (ReadingState.FAILED, NoTextReason.UNAVAILABLE) and "are not read" in caplog.text


def _about(content: bytes, reason: bytes = b"") -> bytes:
    encoding = b'"encoding": "", "is_encoding_doubtful": false'
    return b'{"reason": "%b", "places": 0, "without_text": 0, "is_cut": false, %b, %b}' % (reason, encoding, content)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("import os; os.kill(os.getpid(), 11)", NoTextReason.BROKEN),
        ("import time; time.sleep(60)", NoTextReason.SLOW),
        ("while True: print('x' * 100_000)", NoTextReason.SLOW),
        ("import sys; sys.exit(70)", NoTextReason.UNAVAILABLE),
        ("import no_such_library", NoTextReason.BROKEN),
        ("from chatui.documents.inside import worker; sys.modules['pypdf'] = None; worker.main()", NoTextReason.UNAVAILABLE),
        (
            f"{ON_ANOTHER_PROCESSOR}from chatui.documents.inside import worker; worker.main()",
            NoTextReason.UNAVAILABLE,
        ),
        *(
            (
                f"import sys; sys.stdout.buffer.write(len(b := {output!r}).to_bytes(4, 'big') + b + 'a\\u202eb'.encode())",
                NoTextReason.BROKEN,
            )
            for output in (
                _about(b'"left_out": [], "unread": {}, "parts": [["", -1], ["", 6]]'),
                _about(b'"left_out": [], "unread": {}, "parts": []'),
                _about(b'"left_out": [["slide", "\\u202e"]], "unread": {}, "parts": []', b"blank"),
                *(
                    _about(b'"left_out": [], "unread": %b, "parts": [["", 6]]' % unread)
                    for unread in (b'{"salary": 1}', b'{"chart": -1}', b'{"chart": "5"}', b'{"chart": 1000001}', b'["chart"]')
                ),
                _about(b'"left_out": [], "unread": {}, "parts": [["", 6]]').replace(b'"encoding": ""', b'"encoding": "utf-7"'),
                b"[" * 100_000,
            )
        ),
    ],
)
def test_every_end_of_the_process_gives_a_result(program: str, reason: NoTextReason, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = ProcessLimits(cpu_seconds=2, wall_seconds=1 if reason is NoTextReason.SLOW else 30)
    change_program(monkeypatch, lambda _: program if "while" in program else f"{FINDS_ITS_CODE}{program}", limits.wall_seconds)
    assert reading.read_confined("pdf", b"%PDF-", 1000, limits) == FileReading(reason=reason)


def test_a_valid_result_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    about = b'"left_out": [["slide", "2"]], "unread": {"chart": 3}, "encoding": "", "is_encoding_doubtful": true, "parts": [["page 1", 3]]'
    output = b'{"reason": "", "places": 2, "without_text": 1, "is_cut": true, %b}' % about
    change_program(monkeypatch, lambda _: f"import sys; sys.stdout.buffer.write(len(b := {output!r}).to_bytes(4, 'big') + b + b'abc')")
    assert reading.read_confined("pdf", b"", 1000, ProcessLimits()) == FileReading(
        "", (TextPart("page 1", "abc"),), 2, 1, NoTextReason.NONE, True, ((HiddenPart.SLIDE, "2"),), ((UnreadThing.CHART, 3),), "", True
    )


def test_the_process_inherits_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATUI_SECRET_KEY", "a secret")
    program = (
        "import json, os, sys; b = json.dumps(dict(os.environ)).encode(); sys.stdout.buffer.write(bytes(4)); sys.exit('secret' in str(b))"
    )
    change_program(monkeypatch, lambda _: program.replace("sys.exit('secret' in str(b))", "sys.exit(70 if b'secret' in b else 0)"))
    assert reading.read_confined("pdf", b"", 1000, ProcessLimits()).reason is NoTextReason.BROKEN


@pytest.mark.django_db
def test_operators_are_told_which_protection_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "faults", lambda: ["a process was not ended at its time limit"])
    [warning] = said("W056", deploy=True)
    assert "at its time limit" in str(warning.msg)


@pytest.mark.extended
@pytest.mark.slow
async def test_the_memory_suffices_for_a_document_of_millions_of_elements() -> None:
    run = "<w:r><w:rPr><w:rFonts/><w:sz/><w:color/><w:lang/></w:rPr><w:t>{} </w:t></w:r>"
    words = [run.format(number * 7919 % 1_000_003) for number in range(350_000)]  # each its own: what is packed too well is refused
    body = "".join(f"<w:p>{''.join(words[at : at + 100])}</w:p>" for at in range(0, len(words), 100))
    found = await read("a.docx", samples.docx(body))
    assert found.state is ReadingState.READ and len(found.parts[0].text.split()) == len(words)
