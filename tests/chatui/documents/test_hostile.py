"""Hostile files: each ends in time with a state, and does not harm the server that has it read."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from chatui.documents.limits import BY_REASON, TEXT_BYTES
from chatui.documents.reading import FileReading, read
from chatui.sandbox import ProcessLimits
from tests.chatui.documents import hostile, more_hostile
from tests.chatui.documents.hostile import SECRET, Made
from tests.support.cases import drawn, extended

pytestmark = pytest.mark.slow

LIMITS = ProcessLimits(cpu_seconds=4)
"""Lower than in production, so that files that run until the limit cost less here."""
MAX_SECONDS = 30
MAX_PAUSE_SECONDS = 0.2

FILES = {
    "hundred_pages": "read",
    "many_pages": "read cut",
    "pdf_stream_bomb": "failed",
    "pdf_nested_bomb": "failed",
    "pdf_pages_in_a_circle": "failed",
    "pdf_doubling_forms": "empty scanned",
    "pdf_many_operators": "failed",
    "pdf_truncated": "failed broken",
    "docx_of_500": "read",
    "docx_one_node": "failed limit",
    "docx_two_million_paragraphs": "failed limit",
    "docx_external_entity": "failed broken",
    "docx_entity_bomb": "failed broken",
    "xlsx_of_2000": "read",
    "xlsx_far_cell": "read",
    "xlsx_two_million_cells": "failed limit",
    "xlsx_external_entity": "failed broken",
}
"""The seventeen files that libraries were evaluated with, and the expected states."""

MORE = {
    "zip_in_a_zip": "failed broken",
    "zip_without_a_document": "failed broken",
    "zip_of_duplicates": "failed broken",
    "zip_with_path_traversal": "read",
    "zip_with_a_symlink": "failed broken",
    "zip_of_many_entries": "failed limit",
    "zip_with_understated_size": "failed broken",
    "zip_with_overstated_size": "",
    "zip64_with_false_sizes": "failed broken",
    "zip_encrypted": "failed encrypted",
    "zip_with_unsupported_compression": "failed broken",
    "docx_named_odt": "failed broken",
    "docx_with_external_relation": "failed broken",
    "docx_that_is_elsewhere": "failed broken",
    "docx_with_a_piece_from_elsewhere": "read",
    "docx_with_entities_in_its_styles": "failed broken",
    "docx_with_entities_in_utf_16": "failed broken",
    "docx_in_utf_7": "failed broken",
    "docx_nested_a_million_deep": "failed limit",
    "docx_of_attributes": "empty blank",
    "docx_of_breaks": "failed limit",
    "xlsx_of_a_million_sheets": "",
    "xlsx_of_one_string_everywhere": "read cut",
    "xlsx_of_a_million_strings": "failed limit",
    "xlsx_with_invalid_numbers": "read",
    "pptx_with_thousands_of_slides": "failed limit",
    "pptx_with_one_slide_repeated": "",
    "odt_of_repetitions": "read",
    "odt_with_billion_laughs": "failed broken",
    "odt_encrypted": "failed encrypted",
    "pdf_encrypted": "failed encrypted",
    "pdf_with_circular_tables": "",
    "pdf_nested_a_million_deep": "failed broken",
    "pdf_with_false_page_count": "failed broken",
    "pdf_with_one_page_repeated": "empty scanned",
    "pdf_of_a_character_map": "failed",
    "pdf_with_two_layers_of_lzw": "failed",
    "pdf_with_file_links": "empty scanned",
    "pdf_and_zip_polyglot": "unsupported type",
    "gif_and_script_polyglot": "unsupported picture",
    "rtf_of_one_name": "read",
    "rtf_of_edges": "read",
    "html_nested_a_million_deep": "empty",
    "html_of_brackets": "read cut",
    "html_of_attributes": "",
    "html_of_tables": "read",
    "csv_of_one_line": "read cut",
    "json_nested_a_million_deep": "read",
    "xml_with_billion_laughs": "read",
    "text_of_combining_marks": "read cut",
    "text_of_invisible_characters": "read cut",
    "text_of_null_bytes": "read",
    "text_of_lone_surrogates": "read",
    "text_in_invalid_utf_32": "read",
    "gzip_named_txt": "unsupported type",
    "program_named_to_look_harmless": "unsupported type",
}
"""Without an expected state the result depends on the machine or the library, and only ending in time matters."""

ALL = FILES | MORE
DEAR = {
    "docx_of_attributes",
    "html_of_tables",
    "many_pages",
    "pdf_with_one_page_repeated",
    "pptx_with_one_slide_repeated",
    "rtf_of_edges",
    "rtf_of_one_name",
    "xlsx_of_a_million_strings",
}
"""Those that take over half a second of a processor each, all within limits that other files reach as well."""
MAKERS: dict[str, Callable[[], Made]] = {name: vars(hostile).get(name) or vars(more_hostile)[name] for name in ALL}


@pytest.mark.parametrize("name", [*drawn(2, (name for name in ALL if name not in DEAR)), *map(extended, sorted(DEAR))])
async def test_it_ends_in_time_with_a_state_and_blocks_nobody(name: str) -> None:
    data = MAKERS[name]()
    before = time.monotonic()
    found, longest = await ticking(read(*data, LIMITS))
    assert time.monotonic() - before < MAX_SECONDS
    assert longest < MAX_PAUSE_SECONDS
    reason = "limit" if found.reason in BY_REASON else found.reason
    result = f"{found.state} {reason} {'cut' if found.is_cut else ''}".split()
    assert result[: len(ALL[name].split())] == ALL[name].split()
    text = "".join(part.text for part in found.parts)
    assert len(text.encode()) <= TEXT_BYTES and bool(text) is (found.state == "read")
    assert Path(SECRET).read_text()[:20] not in text, "no entity, link or path led anywhere"


async def ticking(reading: object) -> tuple[FileReading, float]:
    """The result, and the longest time for which the event loop was blocked: counted if this process had the processor for most of it, or
    if it was over a second. Shorter delays come from other programs on a busy machine."""
    task = asyncio.ensure_future(reading)  # type: ignore[call-overload]
    longest = 0.0
    while not task.done():
        before, worked_before = time.monotonic(), time.process_time()
        await asyncio.sleep(0.005)
        pause, worked = time.monotonic() - before, time.process_time() - worked_before
        longest = max(longest, pause if pause > 1 or worked > pause / 2 else 0)
    return task.result(), longest


async def test_many_files_at_once_do_not_slow_the_loop() -> None:
    names = (
        "csv_of_one_line",
        "html_of_brackets",
        "xlsx_of_one_string_everywhere",
        "text_of_null_bytes",
    )
    files = [MAKERS[name]() for name in names]
    found, longest = await ticking(asyncio.gather(*(read(*each, LIMITS) for each in files)))
    assert longest < MAX_PAUSE_SECONDS and [each.state for each in found] == ["read"] * len(names)  # type: ignore[attr-defined]


async def test_a_pdf_encrypted_with_an_empty_password_is_read() -> None:
    found = await read(*more_hostile.pdf_encrypted(password=""))
    assert [part.text for part in found.parts] == ["words"]
