"""Model servers that staff configured in Administration, the last examination of each server there, and what servers have proved.

A server's columns are those of a BackendSpec (``chatui.backends.spec``). Examinations have one row for each server, by its name.
"""

from __future__ import annotations

from django.contrib.auth.models import Group
from django.db import models
from django.utils.translation import gettext_lazy as _

from chatui.models.conversation import Effort
from chatui.models.keys import Keyed, Row, new_key


class Summaries(models.TextChoices):
    """What says which kind of work a line of a reasoning summary names."""

    BUILT_IN = "built-in", _("Built in: the product reads the reasoning")
    MODEL = "model", _("The summarizer, which is sent the reasoning")
    SERVER = "server", _("Headings of the summaries that this server writes")
    NONE = "none", _("None")


class StoredBackend(Keyed):
    """A model server that staff entered, with at most one key: ``key_name`` or ``sealed_key``.

    The audit log names columns by their verbose names.
    """

    name = models.CharField(_("name"), max_length=60, unique=True)
    label = models.CharField(_("display name"), max_length=80, blank=True)
    is_enabled = models.BooleanField(_("enabled"), default=True)
    is_default = models.BooleanField(_("default for new conversations"), default=False, db_default=False)
    """Whether new conversations begin with it: at most one, see ``model_servers.configured.default``. ``position`` orders lists alone."""
    position = models.PositiveSmallIntegerField(_("position"), default=0)
    kind = models.CharField(_("wire format"), max_length=40, default="chat")
    url = models.CharField(_("address"), max_length=300, blank=True)
    key_name = models.CharField(_("key name"), max_length=60, blank=True)
    """The name of a key that the operator stores."""
    sealed_key = models.TextField(blank=True, editable=False, default="", db_default="")
    """A key that staff entered: encrypted, and bound to the origin of the address."""
    model_names = models.TextField(_("models"), blank=True)
    """One per line."""
    effort = models.CharField(_("reasoning effort"), max_length=8, choices=Effort, default=Effort.MEDIUM)
    first_token_seconds = models.FloatField(default=300.0)
    idle_seconds = models.FloatField(default=60.0)
    overall_seconds = models.FloatField(default=1800.0)
    max_answer_tokens = models.PositiveIntegerField(default=0)
    context_tokens = models.PositiveIntegerField(default=0)
    groups = models.ManyToManyField(Group, verbose_name=_("groups"), blank=True, related_name="+")
    summaries = models.CharField(max_length=8, choices=Summaries, default=Summaries.BUILT_IN)
    summarizer = models.CharField(_("summarizer"), max_length=260, blank=True)
    other_settings = models.TextField(_("other settings"), blank=True, max_length=8000)
    """The keys of a spec that have no column, as TOML; ``model_servers.configured`` lists the allowed ones."""
    changed_at = models.DateTimeField(_("last changed"), auto_now=True)
    # Also empty if the operator created the row from the shell.
    unconfirmed_by = models.CharField(_("unconfirmed change by"), max_length=150, blank=True, editable=False)
    """Who created or changed the row without the permission to see hidden channels, which its server will receive. Until somebody with that
    permission confirms it, nobody can use the server; confirming empties the column."""
    tested_at = models.DateTimeField(null=True, editable=False)
    tested_digest = models.CharField(max_length=64, blank=True, editable=False, default="", db_default="")
    """The ``settings_digest`` (``model_servers.stored``) of what last passed a test, at ``tested_at``. With other settings or another key
    it says nothing."""

    class Meta:
        ordering = ["position", "name"]
        constraints = [
            models.UniqueConstraint(fields=["is_default"], condition=models.Q(is_default=True), name="one_default_model_server"),
        ]
        verbose_name = _("model server")
        verbose_name_plural = _("model servers")

    def __str__(self) -> str:
        return self.name


class SeparationProof(Row):
    """That a model at a model server keeps reasoning apart from answers (``backends.separation``), as all processes know it. Nothing of a
    server can be read here."""

    digest = models.CharField(max_length=64, unique=True)
    """A digest of its address, its model, the settings that affect how it answers, and the upstream behind a gateway."""
    server = models.CharField(max_length=64, db_index=True)
    """As ``digest``, but without the upstream."""
    proof = models.UUIDField()
    """New for each, so that one that was taken back is not taken for the next."""
    version = models.CharField(max_length=64, blank=True)
    """A digest of the version that the server named."""
    proved_at = models.DateTimeField()


class Examination(Row):
    """An examination, running until ``finished_at``, at most until ``lease_until``: the process that runs it renews the lease, and one that
    died does not."""

    server = models.CharField(max_length=60, unique=True)
    run = models.UUIDField(default=new_key)
    """New for each examination, so that one whose lease has expired cannot write into its successor."""
    begun_at = models.DateTimeField()
    lease_until = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    asked = models.PositiveSmallIntegerField(default=0)
    """How many test questions were asked."""
    kind = models.CharField(max_length=40, blank=True)
    """The wire format under test."""
    report = models.JSONField(null=True, blank=True)
    """Only numbers and names from fixed lists, no text from the server."""
