"""A turn: from a user's message to the end of its answer. Exactly one process holds its lease while it runs."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from chatui.models.conversation import Conversation, Effort
from chatui.models.keys import Keyed


class TurnState(models.TextChoices):
    """The state of a turn: ``running``, or exactly one terminal state. The debug view has the words of the page, the list and the tab
    (``tests/chatui/display/test_words_of_states.py``), and says more of what was not finished."""

    RUNNING = "running", _("Thinking or writing")
    COMPLETED = "completed", _("Completed")
    STOPPED = "stopped", pgettext_lazy("an answer", "Stopped")
    INCOMPLETE = "incomplete", _("Not finished: cut off")
    FAILED = "failed", _("Not finished: failed")
    INTERRUPTED = "interrupted", _("Not finished: interrupted")


IS_RUNNING = models.ExpressionWrapper(models.Q(state=TurnState.RUNNING), output_field=models.BooleanField())
"""At most one turn of a conversation runs, and it is the latest, whatever the clocks say of the processes that began the others."""
BY_TIME = (IS_RUNNING.asc(), "started_at")
"""The order of a conversation's turns."""
LATEST_FIRST = (IS_RUNNING.desc(), "-started_at")


class Turn(Keyed):
    """State, lease, settings used, usage and times of one answer."""

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="turns")
    question = models.ForeignKey("chatui.Message", on_delete=models.CASCADE, related_name="answers")
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    client_id = models.UUIDField()
    state = models.CharField(max_length=12, choices=TurnState, default=TurnState.RUNNING)
    lease_owner = models.CharField(max_length=64, blank=True)
    lease_until = models.DateTimeField()
    stop_requested = models.BooleanField(default=False)
    """Whether somebody pressed Stop in a process other than the one that runs the turn."""
    is_queued = models.BooleanField(default=False, db_default=False)
    """Whether the turn waits for a slot, and no model has been asked (``turns.slots``)."""
    effort = models.CharField(max_length=8, choices=Effort)
    choice = models.CharField(max_length=260, blank=True)
    continued_message = models.ForeignKey(
        "chatui.Message", on_delete=models.SET_NULL, null=True, blank=True, related_name="+", db_index=False
    )
    """The truncated message whose answer the turn continues."""
    key = models.ForeignKey("chatui.ApiKey", on_delete=models.SET_NULL, null=True, blank=True, related_name="+", db_index=False)
    """The API key of a program's request; NULL for a person."""
    reserved_tokens = models.PositiveBigIntegerField(null=True, blank=True)
    """How many tokens of the person's limits are reserved for the turn until it ends; NULL if they have no limits."""
    request = models.BinaryField(null=True, blank=True)
    """The request to the model, compressed; hidden like a hidden frame."""
    backend = models.CharField(max_length=100, blank=True)
    model = models.CharField(max_length=200, blank=True)
    input_tokens = models.PositiveIntegerField(null=True, blank=True)
    output_tokens = models.PositiveIntegerField(null=True, blank=True)
    turns_left_out = models.PositiveIntegerField(default=0)
    """How many of the oldest turns the model did not see, because the conversation is longer than its context window."""
    context_size = models.PositiveIntegerField(null=True, blank=True)
    """The model's context window in tokens; NULL if unknown."""
    context_used = models.PositiveIntegerField(null=True, blank=True)
    """How many of them the conversation takes, or a question that is too long (``backends.base.ContextUse``); NULL if unknown."""
    first_token_ms = models.PositiveIntegerField(null=True, blank=True)
    """How many milliseconds the model server took to write something, hidden or not; NULL if it never did."""
    thought_seconds = models.PositiveIntegerField(null=True, blank=True)
    """How long hidden work took before the answer began; NULL if there was none; for an answer that several turns wrote, people see the
    sum."""
    error_code = models.CharField(_("error code"), max_length=40, blank=True)
    error_detail = models.TextField(blank=True)
    """For staff only: it may quote a server's reply."""
    error_cause = models.CharField(max_length=200, blank=True, db_default="")
    """The product's own short text for admins, without quotes."""
    retry_after = models.PositiveIntegerField(null=True, blank=True)
    """How many seconds a busy server asked to wait."""
    by_server = models.JSONField(null=True, blank=True)
    """What the model server did by itself: the types of its ``tools``, and the ``sources`` that the answer cites according to the server,
    each with URL and title; NULL if it did nothing."""
    started_at = models.DateTimeField(_("started"), auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["asked_by", "client_id"], name="one_turn_per_ask"),
            models.UniqueConstraint(fields=["conversation"], condition=models.Q(state="running"), name="one_running_turn_per_conversation"),
        ]
        # Most turns have none of these.
        indexes = [
            models.Index(fields=["continued_message"], condition=models.Q(continued_message__isnull=False), name="turn_that_continues"),
            models.Index(fields=["key"], condition=models.Q(key__isnull=False), name="turn_of_key"),
        ]


class TurnPiece(models.Model):
    """Text of a running turn that is not in a message yet, in case its process dies: what was added to one frame between two writes. As
    hidden as the frame, and deleted when the turn ends. Of a summary it has the lines as values (``turns.leases.lines_in``)."""

    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="pieces", db_index=False)
    number = models.PositiveIntegerField()
    frame = models.UUIDField()
    """The key that the message will have."""
    header = models.TextField(blank=True)
    """The frame's header, as a frame without a body; empty if it is the same as in the previous piece. The last header applies, because a
    visible frame can become hidden."""
    text = models.TextField(blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["turn", "number"], name="one_piece_per_number")]
