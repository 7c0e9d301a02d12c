"""A file in a conversation: its name there, and its content, which is stored once for each person who has it."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models

from chatui.models.conversation import Conversation
from chatui.models.turn import Turn


class FileSource(models.TextChoices):
    """Who made a file."""

    TOOL = "tool", "Tool"
    PERSON = "person", "Person"


class FileContent(models.Model):
    """The bytes of one or several files of one person. Never shared between people: how long storing takes, and whether it counts, would
    tell one that another has the same file. ``sha256`` in hex, and ``size`` in bytes; the bytes of a document begin,
    for ``sha256`` alone, with what it is read as. ``media_type`` is what the bytes are, whatever the
    name says, and ``width`` is that of a picture that may be shown, in pixels; NULL for anything else. ``is_encrypted``: its pieces are
    (``store.files.encryption``).
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    sha256 = models.CharField(max_length=64)
    size = models.PositiveBigIntegerField()
    media_type = models.CharField(max_length=100)
    width = models.PositiveIntegerField(null=True, blank=True)
    height = models.PositiveIntegerField(null=True, blank=True)
    is_encrypted = models.BooleanField(default=False)

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["owner", "sha256"], name="one_content_per_owner")]

    def __str__(self) -> str:
        return f"Content {self.pk}"


class FilePiece(models.Model):
    """A part of a content, so that reading a file never holds all of it. ``number`` counts from 0."""

    content = models.ForeignKey(FileContent, on_delete=models.CASCADE, related_name="pieces")
    number = models.PositiveIntegerField()
    data = models.BinaryField()

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["content", "number"], name="one_piece_per_place")]

    def __str__(self) -> str:
        return f"Piece {self.number} of {self.content_id}"


class StoredFile(models.Model):
    """A file in a conversation. ``id`` is random, because it stands in an address. ``name`` has no path and no unseen characters
    (``store.files.names``). ``turn`` is the one whose tool made the file; NULL for what a person brought. ``conversation`` is NULL
    until a question has gone out with the file: an unsent one goes after a day (``store.documents.pending_uploads``). ``brought_in``: the
    key of the conversation at whose message box it was brought, and where it waits; NULL for a new one."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, null=True, blank=True, related_name="files")
    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, null=True, blank=True, related_name="files")
    content = models.ForeignKey(FileContent, on_delete=models.CASCADE, related_name="files")
    name = models.CharField(max_length=120)
    source = models.CharField(max_length=8, choices=FileSource)
    brought_in = models.UUIDField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["turn", "name"], name="one_file_per_name_of_turn")]

    def __str__(self) -> str:
        return f"File {self.id}"
