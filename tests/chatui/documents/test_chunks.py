"""Splitting documents into passages: they contain all of the text, end at natural breaks, and never span two pages."""

from chatui.documents.chunks import CHARS, chunks


def test_passages_contain_all_of_the_text_with_its_positions() -> None:
    pages = ["One sentence. " * 300, "", "x" * 4000, "short", "# Tea\n" + "hot " * 200 + "\n# Coffee\n" + "cold " * 250]
    found = list(chunks(pages))
    for chunk in found:
        assert pages[chunk.number - 1][chunk.start :].startswith(chunk.text) and 0 < len(chunk.text) <= CHARS
    for number, page in enumerate(pages, 1):
        assert "".join(chunk.text for chunk in found if chunk.number == number) == page


def test_a_passage_ends_before_a_heading_between_paragraphs_or_between_sentences() -> None:
    before, after = "word " * 200, "word " * 200
    assert [chunk.text for chunk in chunks([f"{before}\n## Tea\n{after}"])][1].startswith("## Tea")
    assert [chunk.text for chunk in chunks([f"{before}\n\nTea. {after}"])][1].startswith("Tea.")
    assert all(chunk.text.endswith(". ") for chunk in chunks(["A sentence of words. " * 200]))
    assert all(chunk.text.endswith("。") for chunk in chunks(["日本語の文章。" * 1000]))


def test_white_space_gives_no_passage() -> None:
    assert list(chunks(["", "\n" * 5000])) == []
