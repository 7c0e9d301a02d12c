"""A model server that staff configured on the admin pages. Its columns are those of a BackendSpec (``backends.spec.definition``)."""

from __future__ import annotations

from django.contrib.auth.models import Group
from django.db import models
from django.utils.translation import gettext_lazy as _

from chatui.models.conversation import Effort
from chatui.models.keys import new_key


class Summaries(models.TextChoices):
    """Where the reasoning summaries that people may read come from."""

    NONE = "none", _("None")
    SERVER = "server", _("Written by this server, and trusted not to be raw reasoning")
    MODEL = "model", _("Written by the summarizer")


class StoredBackend(models.Model):
    """A row never contains a secret key: ``key_name`` names one that the operator stores. ``model_names`` has one name per line.
    ``other_settings``: the keys of a spec that have no column, as TOML; ``model_servers.configured`` lists the allowed ones.

    ``unconfirmed_by`` names who created or changed the row without the permission to see hidden channels, which its server will receive.
    Until somebody with that permission confirms it, nobody can use the server; confirming empties the column.
    """

    id = models.UUIDField(primary_key=True, default=new_key, editable=False)
    name = models.CharField(max_length=60, unique=True, help_text=_("Letters, digits, dots, hyphens. Conversations remember it."))
    label = models.CharField(max_length=80, blank=True, help_text=_("What people see. Empty: the name."))
    is_enabled = models.BooleanField(_("enabled"), default=True)
    position = models.PositiveSmallIntegerField(
        default=0, help_text=_("Lower ones come first. The first that a person may use is the default.")
    )
    kind = models.CharField(max_length=40, default="chat", help_text=_("The wire format."))
    url = models.CharField(_("address"), max_length=300, blank=True, help_text=_("Such as http://127.0.0.1:8080/v1. People never see it."))
    key_name = models.CharField(
        _("name of the key"),
        max_length=60,
        blank=True,
        help_text=_("The key itself is in the environment or in a file on the server, and is bound to the origin that it is for."),
    )
    model_names = models.TextField(
        _("models"), blank=True, help_text=_("One name a line, the default first. Empty: those that the server names.")
    )
    effort = models.CharField(max_length=8, choices=Effort, default=Effort.MEDIUM, help_text=_("For a new conversation."))
    first_token_seconds = models.FloatField(default=300.0)
    idle_seconds = models.FloatField(default=60.0)
    overall_seconds = models.FloatField(default=1800.0)
    max_answer_tokens = models.PositiveIntegerField(default=0, help_text=_("0: the setting of the deployment."))
    context_tokens = models.PositiveIntegerField(default=0, help_text=_("0: the server is asked."))
    groups = models.ManyToManyField(Group, blank=True, related_name="+", help_text=_("Whose members may use it. None: everybody."))
    summaries = models.CharField(max_length=8, choices=Summaries, default=Summaries.NONE)
    summarizer = models.CharField(
        max_length=260, blank=True, help_text=_("The back end that writes summaries, such as small or small/model.")
    )
    summary_review = models.BooleanField(
        null=True,
        blank=True,
        default=None,
        help_text=_("Whether a model reviews a summary before people see it; unset: where a model writes it."),
    )
    other_settings = models.TextField(
        _("other settings"),
        blank=True,
        max_length=8000,
        help_text=_("As in the file of back ends, one a line, such as: sampling = { temperature = 0.7 }"),
    )
    changed_at = models.DateTimeField(auto_now=True)
    # Also empty if the operator created the row from the shell.
    unconfirmed_by = models.CharField(_("unconfirmed change by"), max_length=150, blank=True, editable=False)

    class Meta:
        ordering = ["position", "name"]
        verbose_name = _("back end")
        verbose_name_plural = _("back ends")

    def __str__(self) -> str:
        return self.name
