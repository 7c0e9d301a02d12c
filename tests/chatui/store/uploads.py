"""Makes uploaded files for tests that send them."""

from chatui.documents.reading import FileReading, TextPart
from chatui.models.files import DocumentText, DocumentUse, FileContent, StoredFile
from chatui.models.user import User
from chatui.store import documents, files, uploads
from chatui.store.context_use import Room
from chatui.store.documents import QuestionFile
from chatui.store.files import FileDestination, NewFile


def uploaded(person: User, name: str = "notes.txt", text: str = "The meeting is on Tuesday.") -> StoredFile:
    """An uploaded text file that has not been sent yet."""
    return uploaded_with(person, name, TextPart("", text))


def uploaded_with(person: User, name: str, *parts: TextPart, kind: str = "text") -> StoredFile:
    """The same, with these parts."""
    file = files.save(FileDestination(person.pk, None), NewFile.of(name, "\n".join(part.text for part in parts).encode()))
    tokens, is_counted = uploads.tokens_of([part.text for part in parts])
    reading = FileReading(kind, parts, places=len(parts) if len(parts) > 1 else 0)
    documents.save(file.content, reading, tokens, is_counted=is_counted)
    return file


def pages(person: User, count: int, name: str = "report.pdf") -> StoredFile:
    """A PDF with that many pages."""
    return uploaded_with(
        person, name, *(TextPart(f"page {number}", f"This is page {number}.") for number in range(1, count + 1)), kind="pdf"
    )


def given(file: StoredFile, use: str = DocumentUse.WHOLE, places: str = "", room: int = 10**6) -> str:
    """What a model reads of an uploaded file that is sent. ``places``: the chosen pages; ``room``: in tokens."""
    [prepared] = documents.prepare(file.owner_id, [QuestionFile(file.pk, use, places)], Room(room))
    return prepared.given.frame.body


def stored_bytes(person: User) -> int:
    """How much of their quota a person's contents take, with the text that was read of them."""
    contents = FileContent.objects.filter(owner=person)
    return sum(contents.values_list("size", flat=True)) + sum(
        DocumentText.objects.filter(content__in=contents).values_list("bytes", flat=True)
    )
