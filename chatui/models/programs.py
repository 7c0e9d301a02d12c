"""API keys, with which programs act for their owners, and the additional data of turns and conversations that they requested.

A key itself is not stored.
"""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q, Value
from django.utils.translation import gettext_lazy as _

from chatui.models.conversation import Conversation
from chatui.models.keys import Row
from chatui.models.turn import Turn


class ApiKey(Row):
    """An API key. It is valid while it is neither revoked nor past ``expires_at``, and its owner's account is active."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, verbose_name=_("owner"), on_delete=models.CASCADE, related_name="api_keys")
    name = models.CharField(_("name"), max_length=60)
    prefix = models.CharField(_("prefix"), max_length=11, unique=True)
    """The beginning of the key, for lookups and for people to recognize it."""
    digest = models.CharField(max_length=64, unique=True)
    """The SHA-256 of the whole key, in hexadecimal."""
    choices = models.JSONField(_("models"), default=list, blank=True)
    """The models that it may use; empty: all of its owner's."""
    for_responses = models.BooleanField(_("may use Responses"), default=True, db_default=True)
    """Whether it may use this API format, as the next two."""
    for_chat = models.BooleanField(_("may use Chat Completions"), default=True, db_default=True)
    for_messages = models.BooleanField(_("may use Messages"), default=False, db_default=False)
    tools = models.JSONField(_("tools"), default=list, blank=True, db_default=Value([], models.JSONField()))
    """Names of the product's tools that models may call for it; empty: none."""
    per_minute = models.PositiveIntegerField(_("requests per minute"), default=60, db_default=60)
    """How many requests it may make within a minute."""
    at_once = models.PositiveIntegerField(_("answers at once"), null=True, blank=True)
    """How many answers may be written for it at once; None: as many as for all programs of its owner."""
    views_hidden = models.BooleanField(_("may read raw reasoning"), default=False, db_default=False)
    """Whether it may read raw reasoning, as long as its owner has the permission."""
    reads_all = models.BooleanField(_("may read responses of other keys"), default=False, db_default=False)
    """Whether it may also read answers that its owner's other keys requested."""
    made_by_name = models.CharField(_("created by"), max_length=150, blank=True, default="", db_default="")
    """Who created it, if not its owner."""
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    expires_at = models.DateTimeField(_("expires"), null=True, blank=True)
    has_expired: bool
    """Only ``key_admission`` reads a row with it, by the clock of the database."""
    last_used_on = models.DateField(_("last used"), null=True, blank=True)
    """A day (UTC)."""
    revoked_at = models.DateTimeField(_("revoked"), null=True, blank=True)

    class Meta(Row.Meta):
        verbose_name = _("API key")
        verbose_name_plural = _("API keys")
        indexes = [models.Index(fields=["owner", "-created_at"], name="api_key_by_owner")]
        constraints = [
            models.CheckConstraint(
                condition=Q(for_responses=True) | Q(for_chat=True) | Q(for_messages=True), name="api_key_speaks_a_format"
            ),
            models.CheckConstraint(condition=Q(per_minute__gt=0), name="api_key_may_ask"),
        ]

    def __str__(self) -> str:
        return self.prefix

    @property
    def formats(self) -> str:
        """The names of the API formats that the key may use."""
        formats = {"Responses": self.for_responses, "Chat Completions": self.for_chat, "Messages": self.for_messages}
        return " · ".join(name for name, is_allowed in formats.items() if is_allowed)


class ProgramAnswer(Row):
    """An answer to a program."""

    turn = models.OneToOneField(Turn, on_delete=models.CASCADE, related_name="program_answer")
    key = models.ForeignKey(ApiKey, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    """The API key of the request."""
    is_kept = models.BooleanField(default=True, db_default=True)
    """Whether the conversation stays when the turn has ended; otherwise it is erased at once."""
    orders = models.TextField(blank=True, default="", db_default="")
    """The text of the program's system and developer messages, which is sent again in later turns."""
    given = models.JSONField(default=dict)
    """The settings of the request, in its API format. They may contain text that the program wrote."""

    class Meta(Row.Meta):
        indexes = [models.Index(fields=["id"], name="program_answer_to_erase", condition=models.Q(is_kept=False))]


class ProgramConversation(Row):
    """A conversation that a program began by itself, and continues by its id. What a person adds on a page is another branch."""

    conversation = models.OneToOneField(Conversation, on_delete=models.CASCADE, related_name="program_conversation")
    key = models.ForeignKey(ApiKey, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    """The API key of that program, which alone adds to it."""
    metadata = models.JSONField(default=dict)
    """Texts of the program's own."""
    leaf = models.UUIDField(null=True, blank=True)
    """The last message that the program sent; if an answer to it followed, the conversation continues after that. NULL while it is empty.
    """
    orders = models.JSONField(default=list)
    """The program's system and developer messages, in order, each with its ``id`` and ``text``, and ``after``: the message that it follows,
    or null."""
