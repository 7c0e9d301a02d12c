"""A conversation, which is a tree of messages that belongs to one person, with its folder and the branch that the person has open.

A folder has custom instructions for all questions in it.
"""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from chatui.models.assistants import AssistantVersion
from chatui.models.collections import Collection
from chatui.models.keys import Keyed, Row


class Folder(Row):
    """A folder of conversations. ``instructions`` are the owner's preferences: nobody else sees them, and they rank below the operator's
    instructions."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="folders")
    name = models.CharField(max_length=60)
    instructions = models.TextField(blank=True, default="", db_default="")
    created_at = models.DateTimeField(auto_now_add=True)
    has_news = waits = False
    """Not stored; see ``permissions.access.own_folders``."""


class Effort(models.TextChoices):
    """How long the model may think before it answers."""

    LOW = "low", pgettext_lazy("reasoning effort", "Low")
    MEDIUM = "medium", pgettext_lazy("reasoning effort", "Medium")
    HIGH = "high", pgettext_lazy("reasoning effort", "High")


class ImportSource(models.TextChoices):
    """Where an imported conversation comes from: the product that it was exported from, or a link to a shared conversation, of which it is
    a copy; empty for a transcript."""

    CHATGPT = "chatgpt", "ChatGPT"
    OPEN_WEBUI = "open_webui", "Open WebUI"
    LIBRECHAT = "librechat", "LibreChat"
    CLAUDE = "claude", "Claude"
    DEEPSEEK = "deepseek", "DeepSeek"
    SHARED = "shared", "shared conversation"


class Conversation(Keyed):
    """Title and settings of a conversation.

    It is in one place: in the list or in one of its owner's folders, at the top of either if ``is_pinned``, or in the archive, where it
    cannot be pinned. Restored from the archive or the bin, it returns to its ``folder``.
    """

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("owner"), on_delete=models.CASCADE, related_name="conversations", db_index=False
    )
    title = models.CharField(max_length=120, blank=True)
    title_is_custom = models.BooleanField(default=False)
    choice = models.CharField(max_length=260, blank=True)
    """The model server, or one of its models, that its owner chose in the composer."""
    model = models.CharField(max_length=200, blank=True)
    """The model that wrote the last answer."""
    effort = models.CharField(max_length=8, choices=Effort, default=Effort.MEDIUM)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    active_at = models.DateTimeField(_("last active"), auto_now_add=True)
    deleted_at = models.DateTimeField(null=True, blank=True)
    """When it was put into the bin; a purge removes the rows later."""
    imported_at = models.DateTimeField(null=True, blank=True)
    """When it was uploaded or copied from a shared one. It stays set if the conversation is renamed."""
    unfinished_until = models.DateTimeField(null=True, blank=True)
    """While it is set, an import is still writing the conversation, or it is being erased: it is in the bin and cannot be restored, and the
    first sweep after that time erases it."""
    imported_from = models.CharField(max_length=16, choices=ImportSource, blank=True, default="", db_default="")
    """Where it comes from."""
    import_key = models.CharField(max_length=64, blank=True, default="", db_default="")
    """The digest of its data in the export, so that nothing is imported twice."""
    document_header = models.TextField(blank=True)
    """The header of the imported document, as OpenChatML text."""
    sampled_with = models.JSONField(null=True, blank=True)
    """The sampling settings of the last answer, as keys of ``generation_settings``; NULL before the first."""
    answer_format = models.JSONField(null=True, blank=True)
    """The required format, see ``answer_formats.answer_format``; NULL for text."""
    has_news = models.BooleanField(default=False, db_default=False)
    """Whether an answer has ended that no page has shown to its owner yet."""
    is_pinned = models.BooleanField(default=False, db_default=False)
    archived_at = models.DateTimeField(null=True, blank=True)
    """When it was archived; NULL: it is not in the archive."""
    folder = models.ForeignKey(Folder, on_delete=models.SET_NULL, null=True, blank=True, related_name="conversations", db_index=False)
    """One of its owner's folders; NULL: in the list."""

    handed_over_at = models.DateTimeField(null=True, blank=True)
    """When it came from another account, whose person, not the owner, wrote the earlier messages; NULL if it never did."""
    without_instructions = models.BooleanField(default=False, db_default=False)
    """Whether its owner's custom instructions are left out."""
    temporary_until = models.DateTimeField(null=True, blank=True)
    """When it is erased, if it is temporary (``chatui.store.temporary``): then it is in no list. NULL for all others."""
    began_with_assistant = models.BooleanField(default=False, db_default=False)
    """Whether it began with an assistant, of which ``assistant_version`` applies; that is NULL if the assistant was removed since."""
    assistant_version = models.ForeignKey(
        AssistantVersion, on_delete=models.SET_NULL, null=True, blank=True, related_name="conversations", db_index=False
    )
    has_collections = models.BooleanField(default=False, db_default=False)
    collections = models.ManyToManyField(Collection, blank=True, related_name="conversations")
    """Those that its owner chose to ask in it, whether or not they still may; none if not ``has_collections``. The files of its folder and
    of its assistant are asked besides."""
    is_running = waits = False
    """Not stored; see ``permissions.access.own_chosen``."""

    class Meta:
        indexes = [
            models.Index(fields=["temporary_until"], name="conversation_temporary", condition=models.Q(temporary_until__isnull=False)),
            models.Index(fields=["unfinished_until"], name="conversation_unfinished", condition=models.Q(unfinished_until__isnull=False)),
            models.Index(fields=["owner", "-active_at"], name="conversation_by_owner"),
            models.Index(
                fields=["assistant_version"],
                name="conversation_of_assistant",
                condition=models.Q(assistant_version__isnull=False),
            ),
            models.Index(fields=["folder"], name="conversation_of_folder", condition=models.Q(folder__isnull=False)),
            models.Index(
                fields=["owner", "-is_pinned", "-active_at", "-id"],
                name="conversation_listed",
                condition=models.Q(deleted_at=None, archived_at=None, folder=None),
            ),
            models.Index(
                fields=["folder", "-is_pinned", "-active_at", "-id"],
                name="conversation_in_folder",
                condition=models.Q(deleted_at=None, archived_at=None, folder__isnull=False),
            ),
            models.Index(
                fields=["owner", "folder"],
                name="conversation_news_in_folder",
                condition=models.Q(has_news=True, deleted_at=None, archived_at=None, folder__isnull=False),
            ),
            models.Index(
                fields=["owner", "-archived_at", "-id"],
                name="conversation_archived",
                condition=models.Q(deleted_at=None, archived_at__isnull=False),
            ),
            models.Index(fields=["owner", "-deleted_at", "-id"], name="conversation_in_bin", condition=models.Q(deleted_at__isnull=False)),
        ]
        constraints = [
            # Of two simultaneous uploads of the same export, the first to finish is kept.
            models.UniqueConstraint(
                fields=["owner", "import_key"],
                condition=models.Q(deleted_at=None) & ~models.Q(import_key=""),
                name="conversation_imported_once",
            ),
        ]
        verbose_name = _("conversation")
        verbose_name_plural = _("conversations")
        permissions = [
            ("view_hidden_channels", "Can see hidden channels in the debug view"),
            ("view_any_conversation", "Can open conversations of other people"),
        ]

    @property
    def has_words_of_others(self) -> bool:
        """Whether somebody else may have written messages that appear as the owner's."""
        return self.imported_at is not None or self.handed_over_at is not None


class ActiveLeaf(models.Model):
    """The last message of the branch that ``person`` has open. Without a row, they have not opened any yet."""

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="active_leaves", db_index=False)
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    message = models.ForeignKey("chatui.Message", on_delete=models.CASCADE, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["conversation", "person"], name="one_active_leaf_per_person")]
