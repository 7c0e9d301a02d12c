"""Tool calls: their approval, what tools say to the person, a person's rules for tools in one conversation, the claims that let each run
only once, the sessions with tool servers, and the operator's confirmations of their tools.

A rule says that a tool runs without asking, or that it is off. A claim is written before the tool runs, so that no call is ever executed
twice.
"""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models
from django.utils.translation import gettext_lazy as _

from chatui.models.conversation import Conversation
from chatui.models.keys import Row
from chatui.models.turn import Turn


class Decision(models.TextChoices):
    """The decision about a call: ``waiting``, or exactly one final decision. ``ruled``: nobody was asked, because the person had allowed
    the tool earlier. ``none``: there is nothing to decide. Of a form: ``answered``, ``declined``, ``canceled`` or ``lapsed``."""

    WAITING = "waiting", _("Waiting for a decision")
    ONCE = "once", _("Allowed once")
    ALWAYS = "always", _("Allowed in this conversation")
    DECLINED = "declined", _("Declined")
    NEVER = "never", _("Declined and switched off in this conversation")
    LAPSED = "lapsed", _("Declined, because nobody decided in time")
    RULED = "ruled", _("Allowed earlier in this conversation")
    NONE = "none", "Nothing to decide"
    ANSWERED = "answered", "Answered"
    CANCELED = "canceled", "Neither answered nor declined"

    @property
    def allows(self) -> bool:
        """Whether the call may run."""
        return self in (Decision.ONCE, Decision.ALWAYS, Decision.RULED)


class CardKind(models.TextChoices):
    """What a card below an answer shows its owner."""

    CALL = "call", "A call that needs approval"
    TEXT = "text", "A text of a tool's server"
    ACCOUNT = "account", "A call that needs the person's account at a tool's server"
    FORM = "form", "A form of a tool's server"


class ToolApproval(Row):
    """A card below an answer, for the conversation's owner only."""

    kind = models.CharField(max_length=8, choices=CardKind, default=CardKind.CALL, db_default=CardKind.CALL)
    """What it is about: a call that needs approval, a text or a form of a tool's server, or an account that a call needs."""
    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="approvals")
    call_id = models.CharField(max_length=128)
    """The key of the call; otherwise a key of its own."""
    tool = models.CharField(max_length=64, blank=True)
    title = models.CharField(max_length=80)
    """The tool's title for people, or the server's name; empty if the model itself asks."""
    fingerprint = models.CharField(max_length=32, blank=True)
    """Identifies the version of the tool that was shown."""
    arguments = models.TextField(blank=True)
    """In JSON: the arguments of the call, as checked and as it would run; or the text, the form, or the server. Empty if nobody is
    asked."""
    receiver = models.CharField(max_length=300, blank=True, default="", db_default="")
    """Who receives the arguments, a host or a server's name; empty if that is nobody outside, or is not known."""
    answer = models.TextField(blank=True, default="", db_default="")
    """What was filled in, in JSON, for whoever asked and the owner."""
    decision = models.CharField(max_length=8, choices=Decision, default=Decision.WAITING)
    asked_at = models.DateTimeField(auto_now_add=True)
    lapses_at = models.DateTimeField()
    """When it can no longer be answered, by the database's clock."""
    decided_at = models.DateTimeField(null=True, blank=True)

    class Meta(Row.Meta):
        constraints = [models.UniqueConstraint(fields=["turn", "call_id"], name="one_approval_per_call")]


class ToolRule(Row):
    """A person's rule for a tool.

    ``is_allowed`` False: the tool is switched off. ``fingerprint``: that of the tool when it was allowed; a changed tool needs approval
    again.
    """

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="tool_rules")
    tool = models.CharField(max_length=64)
    is_allowed = models.BooleanField()
    fingerprint = models.CharField(max_length=32, blank=True, default="", db_default="")

    class Meta(Row.Meta):
        constraints = [models.UniqueConstraint(fields=["conversation", "tool"], name="one_rule_per_tool")]


class ToolCall(Row):
    """A claimed tool call. ``call_id`` is that of the call's frame. The tool's reply is a message; a claim without one means that its
    process died. Neither arguments nor replies are stored here: they are hidden, and are in the frames.
    """

    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="+")
    call_id = models.CharField(max_length=128)
    tool = models.CharField(max_length=64)
    claimed_at = models.DateTimeField(auto_now_add=True)

    class Meta(Row.Meta):
        constraints = [models.UniqueConstraint(fields=["turn", "call_id"], name="one_claim_per_call")]


class ToolSession(Row):
    """The session with a tool server that a conversation used last, or a person in all of theirs (``conversation`` NULL)."""

    server = models.CharField(max_length=40)
    """The server's name, and a digest of its address."""
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    """Who used it. Another person never does, even if the conversation is handed over."""
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    session = models.TextField(blank=True, default="", db_default="")
    """The id of a session over HTTP or of one run of a program, as ``chatui.tools.mcp`` writes it; only a digest, if all people share it;
    empty if it has ended. Whoever knows it can use the session: it is never shown, exported or logged."""

    class Meta(Row.Meta):
        constraints = [
            models.UniqueConstraint(
                fields=["conversation", "server"],
                condition=models.Q(conversation__isnull=False),
                name="one_tool_session_per_conversation",
            ),
            models.UniqueConstraint(fields=["person", "server"], condition=models.Q(conversation=None), name="one_tool_session_per_person"),
        ]


class ToolConfirmation(Row):
    """What the operator decided last about a tool of another server, for all processes (``tools.confirmations``)."""

    name = models.CharField(max_length=64, unique=True)
    """The tool's name here."""
    offer = models.TextField(blank=True)
    """The confirmed ``ToolOffer`` in JSON, to the letter; empty if the confirmation was withdrawn."""
    digest = models.CharField(max_length=64, blank=True)
    """The digest of ``offer``; empty if the confirmation was withdrawn."""
    decided_at = models.DateTimeField()
    decided_by = models.CharField(max_length=150, blank=True)
    """The login of the shell; empty if that is unknown, or if the account of that name was erased."""
    place = models.CharField(max_length=64, blank=True, default="", db_default="")
    """Which server of Administration it is about (``tools.rules.StoredServer``); empty: the operator's file names it. Such a row stays, so
    that no older decision from a file takes its place."""


class ToolSetting(Row):
    """What staff decided about a tool in Administration, for all processes (``tools.rules``).

    Of a tool that the operator's own settings name, only ``is_on`` counts. The audit log names columns by their verbose names.
    """

    name = models.CharField(max_length=64, unique=True)
    """As in settings (``Tool.offered_as``); "search": the search engine of the browser, which alone has ``engine``, ``address`` and
    ``sealed_key``."""
    is_on = models.BooleanField("enabled", default=True)
    is_for_groups = models.BooleanField("only for groups", default=False)
    groups = models.ManyToManyField(Group, verbose_name="groups", blank=True, related_name="+")
    """Whose members have the tool, if it ``is_for_groups``; a rule for groups that are gone is for nobody."""
    needs_approval = models.BooleanField("asks before each call", default=True)
    reads_private_data = models.BooleanField("reads private data", null=True, blank=True)
    """Overrides the author's fact; NULL: the author's."""
    sends_outside = models.BooleanField("sends something out", null=True, blank=True)
    """Overrides the author's fact; NULL: the author's."""
    engine = models.CharField("search engine", max_length=20, blank=True)
    address = models.CharField("address", max_length=300, blank=True)
    sealed_key = models.TextField(blank=True, editable=False)

    class Meta(Row.Meta):
        permissions = [
            ("view_tools", "Can see which tools there are, and why one is off"),
            ("change_tools", "Can switch tools on and off"),
            ("connect_tools", "Can choose the search engine, and connect tool servers by their address"),
        ]


class StoredToolServer(Row):
    """An MCP server at an address that staff entered (``tools.stored_servers``)."""

    name = models.CharField(max_length=20, unique=True)
    url = models.CharField("address", max_length=300)
    header = models.CharField(max_length=100, default="Authorization")
    """The header that each request carries with the key."""
    sealed_key = models.TextField(blank=True, editable=False)
    """The key of each request, encrypted for this row and the origin of the address."""
    selected = models.JSONField(default=list, blank=True)
    """The tools that are offered once they are confirmed, by the server's names."""
    more = models.JSONField(default=dict, blank=True, db_default=models.Value({}, models.JSONField()))
    """What else is entered, by the words of a table of the operator's file; secrets in it are sealed as the key is."""
    gives_resources = models.BooleanField("resources", default=False, db_default=False)
    """Whether people who are offered one of the tools may attach the server's resources."""
    is_on = models.BooleanField("enabled", default=True)
