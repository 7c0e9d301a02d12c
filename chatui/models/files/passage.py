"""Passages of documents, indexed by their words for the document search."""

from __future__ import annotations

from django.db import models

from chatui.models.files.stored_file import FileContent


class DocumentPassage(models.Model):
    """A searchable passage: ``length`` characters of part ``part``, from ``start`` on. ``number`` counts from 1 over the whole document.
    ``terms`` holds the words, separated by spaces, each with the prefix of its content.

    The database's full-text index over ``terms`` is created by a migration. Only ``chatui.store.documents.passages`` writes rows.
    """

    content = models.ForeignKey(FileContent, on_delete=models.CASCADE, related_name="+")
    number = models.PositiveIntegerField()
    part = models.PositiveIntegerField()
    start = models.PositiveIntegerField()
    length = models.PositiveIntegerField()
    terms = models.TextField()

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["content", "number"], name="one_passage_per_number")]

    def __str__(self) -> str:
        return f"Passage {self.number} of content {self.content_id}"
