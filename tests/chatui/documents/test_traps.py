"""Documents with traps are read right: what people see in them is text, or counts as left out."""

import pytest

from chatui.documents.reading import read
from tests.chatui.documents.found_traps import FOUND
from tests.chatui.documents.open_traps import OPEN
from tests.chatui.documents.other_traps import OTHERS
from tests.chatui.documents.pdf_traps import PDF
from tests.chatui.documents.slide_traps import SLIDES
from tests.chatui.documents.word_traps import WORD

KINDS = {"docx": WORD, "pptx": SLIDES, "pdf": PDF, "open": OPEN, "other": OTHERS, "found": FOUND}
TRAPS = {f"{kind}: {name}": trap for kind, traps in KINDS.items() for name, trap in traps.items()}


@pytest.mark.parametrize("name", TRAPS)
async def test_nothing_is_lost_without_a_word(name: str) -> None:
    trap = TRAPS[name]
    found = await read(trap.file, trap.make())
    assert trap.judged(found) == "right", (found.reason, found.unread, [part.text for part in found.parts])
