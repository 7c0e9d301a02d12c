"""A person's rating of one answer: a thumb up or down, and a reason."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import pgettext_lazy

from chatui.models.keys import Row
from chatui.models.message import Message

NOTE_CHARS = 1000
"""The longest note, in characters."""


DOWN = "down"
VERDICTS = (("up", pgettext_lazy("a rating", "Good answer")), (DOWN, pgettext_lazy("a rating", "Bad answer")))
"""The verdicts, with the labels that people see."""

REASONS = (
    ("wrong", pgettext_lazy("a rating", "It is wrong")),
    ("unsafe", pgettext_lazy("a rating", "It is harmful or unsafe")),
    ("instruction", pgettext_lazy("a rating", "It did not do what I asked")),
    ("slow", pgettext_lazy("a rating", "It took too long")),
    ("long", pgettext_lazy("a rating", "It is too long")),
    ("other", pgettext_lazy("a rating", "Something else")),
)
"""The reasons for a bad rating, with the labels that people see."""


class Rating(Row):
    """One rating per answer and person. It belongs to the message, and so to that version of the answer, and is deleted with it."""

    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="ratings")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="ratings")
    verdict = models.CharField(max_length=4, choices=VERDICTS)
    reason = models.CharField(max_length=12, choices=REASONS, blank=True)
    note = models.CharField(max_length=NOTE_CHARS, blank=True)
    """The person's own text."""
    rated_at = models.DateTimeField(db_index=True)
    """When it was last changed."""

    class Meta(Row.Meta):
        permissions = [("export_ratings", "Can export ratings with the visible conversation before each")]
        constraints = [models.UniqueConstraint(fields=["message", "person"], name="one_rating_per_answer")]
