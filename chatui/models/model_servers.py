"""Model servers that staff configured on the admin pages, and the last examination of each server there.

A server's columns are those of a BackendSpec (``chatui.backends.spec``). Examinations have one row for each server, by its name.
"""

from __future__ import annotations

from django.contrib.auth.models import Group
from django.db import models
from django.utils.translation import gettext_lazy as _

from chatui.models.conversation import Effort
from chatui.models.keys import Row, new_key


class Summaries(models.TextChoices):
    """What says which kind of work a line of a reasoning summary names."""

    BUILT_IN = "built-in", _("Built in: the product reads the reasoning")
    MODEL = "model", _("The summarizer, which is sent the reasoning")
    SERVER = "server", _("Headings of the summaries that this server writes")
    NONE = "none", _("None")


class StoredBackend(models.Model):
    """A row never contains a secret key: ``key_name`` names one that the operator stores. ``model_names`` has one name per line.
    ``other_settings``: the keys of a spec that have no column, as TOML; ``model_servers.configured`` lists the allowed ones.

    ``unconfirmed_by`` names who created or changed the row without the permission to see hidden channels, which its server will receive.
    Until somebody with that permission confirms it, nobody can use the server; confirming empties the column.
    """

    id = models.UUIDField(primary_key=True, default=new_key, editable=False)
    name = models.CharField(
        _("name"),
        max_length=60,
        unique=True,
        help_text=_("Letters, digits, dots and hyphens. Conversations refer to the back end by this name."),
    )
    label = models.CharField(_("display name"), max_length=80, blank=True, help_text=_("The name that users see. Empty: the name above."))
    is_enabled = models.BooleanField(_("enabled"), default=True)
    position = models.PositiveSmallIntegerField(
        _("position"), default=0, help_text=_("Lower numbers come first. The first back end that a user may use is their default.")
    )
    kind = models.CharField(_("wire format"), max_length=40, default="chat")
    url = models.CharField(_("address"), max_length=300, blank=True, help_text=_("Such as http://127.0.0.1:8080/v1. Users never see it."))
    key_name = models.CharField(
        _("key name"),
        max_length=60,
        blank=True,
        help_text=_(
            "For example ACME: the key is then in the variable CHATUI_KEY_ACME, or in the file keys/ACME in the data directory, "
            "together with the origin that it is for."
        ),
    )
    model_names = models.TextField(
        _("models"), blank=True, help_text=_("One name per line, the default first. Empty: all models that the server lists.")
    )
    effort = models.CharField(
        _("reasoning effort"), max_length=8, choices=Effort, default=Effort.MEDIUM, help_text=_("The default for new conversations.")
    )
    first_token_seconds = models.FloatField(default=300.0)
    idle_seconds = models.FloatField(default=60.0)
    overall_seconds = models.FloatField(default=1800.0)
    max_answer_tokens = models.PositiveIntegerField(default=0, help_text=_("0: the value of CHATUI_MAX_ANSWER_TOKENS."))
    context_tokens = models.PositiveIntegerField(
        default=0,
        help_text=_("Question, conversation and answer together. 0: the server is asked, or the size is taken from its error message."),
    )
    groups = models.ManyToManyField(
        Group,
        verbose_name=_("groups"),
        blank=True,
        related_name="+",
        help_text=_("Only members of these groups may use the back end. None selected: everybody."),
    )
    summaries = models.CharField(max_length=8, choices=Summaries, default=Summaries.BUILT_IN)
    summarizer = models.CharField(
        _("summarizer"), max_length=260, blank=True, help_text=_("The back end that is asked, such as small or small/model.")
    )
    other_settings = models.TextField(
        _("other settings"),
        blank=True,
        max_length=8000,
        help_text=_("As in the back-ends file, one per line, such as: sampling = { temperature = 0.7 }"),
    )
    changed_at = models.DateTimeField(_("last changed"), auto_now=True)
    # Also empty if the operator created the row from the shell.
    unconfirmed_by = models.CharField(_("unconfirmed change by"), max_length=150, blank=True, editable=False)

    class Meta:
        ordering = ["position", "name"]
        verbose_name = _("back end")
        verbose_name_plural = _("back ends")

    def __str__(self) -> str:
        return self.name


class Examination(Row):
    """An examination, running until ``finished_at``, at most until ``lease_until``: the process that runs it renews the lease, and one
    that died does not.

    ``run`` is new for each examination, so that one whose lease has expired cannot write into its successor. ``asked`` counts the test
    questions, ``kind`` is the wire format under test. ``report`` contains only numbers and names from fixed lists, no text from the server.
    """

    server = models.CharField(max_length=60, unique=True)
    run = models.UUIDField(default=new_key)
    begun_at = models.DateTimeField()
    lease_until = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    asked = models.PositiveSmallIntegerField(default=0)
    kind = models.CharField(max_length=40, blank=True)
    report = models.JSONField(null=True, blank=True)
