"""A message, which is a stored frame with a parent, so that edits and retries make branches, and what is stored along with messages.

A row of the search index has the words of a visible message, or of a title, and nothing hidden. A web page that a model opened is stored so
that a citation of it still works years later.
"""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from chatui.models.conversation import Conversation
from chatui.models.keys import Keyed, Row, Table
from chatui.models.turn import Turn
from renderer.frame_kinds import PRODUCT_NAMES, SUMMARY_NAME
from renderer.frames import Frame, Role


class Author(models.TextChoices):
    """Who wrote the frame. Names in a frame can be forged; this column cannot."""

    PERSON = "person", "Person"
    MODEL = "model", "Model"
    PRODUCT = "product", "Product"
    IMPORT = "import", "Import"
    FORMER = "former", "Former owner"
    """Somebody whose conversation was handed over to its owner."""


class Message(Keyed):
    """A stored frame. The columns about the frame are derived from its text."""

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="messages", db_index=False)
    parent = models.ForeignKey("self", on_delete=models.CASCADE, null=True, blank=True, related_name="children")
    turn = models.ForeignKey(Turn, on_delete=models.SET_NULL, null=True, blank=True, related_name="messages", db_index=False)
    position = models.PositiveIntegerField()
    text = models.TextField()
    """The source of truth: one canonical OpenChatML frame."""
    raw = models.BinaryField(null=True, blank=True)
    """The original header, as JSON, of a frame that had to be repaired before it could be written. It is as hidden as the frame."""
    role = models.CharField(max_length=128)
    channel = models.CharField(max_length=128, blank=True)
    intent = models.CharField(max_length=128, blank=True)
    recipient = models.CharField(max_length=128, blank=True)
    name = models.CharField(max_length=128, blank=True)
    call_id = models.CharField(max_length=128, blank=True)
    terminator = models.CharField(max_length=16)
    is_visible = models.BooleanField()
    is_complete = models.BooleanField(default=True)
    error_code = models.CharField(max_length=40, blank=True)
    author = models.CharField(max_length=8, choices=Author)
    created_at = models.DateTimeField(default=timezone.now)
    """When the frame ended, which may be some time before it is stored."""
    activities = models.JSONField(null=True, blank=True)
    """The lines of a reasoning summary as values (``renderer.activities.activity``); null for any other frame."""
    written: tuple[str, Frame] | None = None
    """Not stored: the text and the frame of a row that was just written or was parsed before."""

    class Meta:
        constraints = [models.UniqueConstraint(fields=["conversation", "position"], name="one_message_per_position")]
        indexes = [
            models.Index(fields=["turn"], condition=models.Q(turn__isnull=False), name="message_of_turn"),
            # For the metrics: few frames have a problem.
            models.Index(fields=["error_code"], condition=~models.Q(error_code=""), name="messages_with_a_problem"),
        ]

    @property
    def is_question(self) -> bool:
        """Whether an exchange begins with it."""
        return self.role == Role.USER and self.is_visible

    @property
    def is_summary(self) -> bool:
        """Whether it is a reasoning summary made of values, written here or imported."""
        return self.is_visible and self.name == SUMMARY_NAME and self.activities is not None

    @property
    def is_old_summary(self) -> bool:
        """Whether it is a reasoning summary of an earlier version, whose words were a model's: people no longer see it. A process of that
        version may still write one while a new one runs."""
        return self.is_visible and self.name == SUMMARY_NAME and self.activities is None and self.author != Author.IMPORT

    @property
    def is_imported_note(self) -> bool:
        """Whether it is imported text under a name of the product's own frames, which anybody may have written: pages say so, and no model
        reads it."""
        return self.is_visible and self.name in PRODUCT_NAMES and self.activities is None and self.author == Author.IMPORT


class SearchEntry(Table):
    """A row of the search index. ``terms`` holds the words, separated by spaces, each with the owner's prefix. Without a ``message`` they
    are the words of the title.

    The database's full-text index over ``terms`` is created by a migration. Only ``chatui.store.search_index`` writes rows.
    """

    id = models.BigAutoField(primary_key=True)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="+")
    message = models.OneToOneField("chatui.Message", on_delete=models.CASCADE, null=True, related_name="+")
    terms = models.TextField()

    class Meta(Table.Meta):
        constraints = [
            models.UniqueConstraint(fields=["conversation"], condition=models.Q(message=None), name="one_search_entry_per_title"),
        ]


class Reindexing(Table):
    """How much of a search index has to be written anew, because a release stores other words of a text: rows with an id below ``below``.
    Newer rows are of this release. Without a row for an index, or with 0, all of it is.

    ``index``: ``messages`` (SearchEntry) or ``passages`` (DocumentPassage). A migration sets ``below``, ``chatui.store.reindexing`` lowers
    it.
    """

    index = models.CharField(max_length=16, primary_key=True)
    below = models.BigIntegerField()


class OpenedPage(Row):
    """A page that a model opened.

    Hidden like the call that opened it, until an answer cites it. Its text is not stored here: it is in the tool's reply, which is hidden.
    """

    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="+")
    cursor = models.PositiveIntegerField()
    """Its number in the conversation, which citations use."""
    url = models.TextField(blank=True)
    """Empty for a list of results."""
    title = models.TextField(blank=True)

    class Meta(Row.Meta):
        constraints = [models.UniqueConstraint(fields=["turn", "cursor"], name="one_page_per_cursor")]
