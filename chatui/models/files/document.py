"""Text extracted from files, and the documents that were sent to a model with a question."""

from __future__ import annotations

from django.db import models

from chatui.models.files.stored_file import FileContent, StoredFile
from chatui.models.message import Message


class DocumentText(models.Model):
    """The extracted text of a file's content, stored once for all conversations. ``state`` and ``kind`` are those of ``documents.reading``;
    there is text only if the state is ``read``. ``reason``: a sentence for its owner. ``places``: how many pages, sheets or slides it has.

    ``bytes``: the size of the whole text in UTF-8, which counts towards the owner's storage like the file. ``tokens``: of the whole text,
    exact if ``is_counted``, otherwise estimated. ``is_cut``: the text is truncated at the limit.
    """

    content = models.OneToOneField(FileContent, on_delete=models.CASCADE, primary_key=True, related_name="document")
    state = models.CharField(max_length=16)
    kind = models.CharField(max_length=40, blank=True)
    reason = models.CharField(max_length=300, blank=True)
    places = models.PositiveIntegerField(default=0)
    places_without_text = models.PositiveIntegerField(default=0)
    characters = models.PositiveIntegerField(default=0)
    bytes = models.PositiveBigIntegerField(default=0, db_default=0)
    tokens = models.PositiveIntegerField(default=0)
    is_counted = models.BooleanField(default=False)
    is_cut = models.BooleanField(default=False)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"Text of content {self.pk}"


class DocumentPart(models.Model):
    """A page, a sheet or a slide, or the whole document: ``label`` is "page 3" or empty. ``number`` counts from 1, including parts without
    text. ``content`` is the same as that of the ``DocumentText``."""

    content = models.ForeignKey(FileContent, on_delete=models.CASCADE, related_name="parts")
    number = models.PositiveIntegerField()
    label = models.CharField(max_length=200, blank=True)
    text = models.TextField()
    tokens = models.PositiveIntegerField(default=0)

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["content", "number"], name="one_part_per_number")]

    def __str__(self) -> str:
        return f"Part {self.number} of content {self.content_id}"


class DocumentUse(models.TextChoices):
    """How a document is passed to a model."""

    WHOLE = "whole", "Whole"
    FIRST = "first", "Beginning"
    PLACES = "places", "Chosen pages or sheets"
    SEARCH = "search", "Search only"


class SentDocument(models.Model):
    """A document before a question. ``message`` is its frame; ``end`` is the last document frame before the question, the question's
    parent: all versions of a question find their documents by it.

    ``file`` is NULL once its owner deleted it; then the frame says only that. ``places``: the numbers of the chosen parts, such as
    "1-12, 15". ``tokens``: of the text in the frame.
    """

    message = models.OneToOneField(Message, on_delete=models.CASCADE, primary_key=True, related_name="+")
    end = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="+")
    file = models.ForeignKey(StoredFile, on_delete=models.SET_NULL, null=True, blank=True, related_name="sent")
    use = models.CharField(max_length=8, choices=DocumentUse, default=DocumentUse.WHOLE)
    places = models.CharField(max_length=200, blank=True)
    tokens = models.PositiveIntegerField(default=0)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"Document {self.pk}"
