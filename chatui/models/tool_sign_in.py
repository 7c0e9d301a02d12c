"""Where people signed in to tool servers as themselves, and the clients that this installation registered for it.

Tokens and secrets are sealed, each for one person and one server: no other row, key or copy of the database opens them. They are never
shown, exported or logged.
"""

from __future__ import annotations

from django.conf import settings
from django.db import models

from chatui.models.keys import Row


class ToolSignIn(Row):
    """A person's sign-in at a tool server."""

    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    server = models.CharField(max_length=40)
    """The server's name, and a digest of its address."""
    issuer = models.CharField(max_length=2000)
    """Where they signed in."""
    content = models.TextField()
    """The sealed tokens."""
    renewal = models.PositiveIntegerField(default=0)
    """How often the tokens were renewed."""
    renewing_until = models.DateTimeField(null=True, blank=True)
    """Until when one process renews them, by the database's clock."""
    renewed_by = models.UUIDField(null=True, blank=True)
    """Which process does so."""
    wanted = models.TextField(blank=True, default="")
    """The scopes that a call lacked, to be asked for with the next sign-in."""
    connected_at = models.DateTimeField(auto_now_add=True)

    class Meta(Row.Meta):
        constraints = [models.UniqueConstraint(fields=["person", "server"], name="one_sign_in_per_tool_server")]


class ToolClient(Row):
    """This installation as the client of an authorization server at which it registered itself, for one tool server."""

    server = models.CharField(max_length=40)
    issuer = models.CharField(max_length=2000)
    back = models.CharField(max_length=2000)
    """The address to which people come back, as registered."""
    content = models.TextField()
    """The sealed client."""
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta(Row.Meta):
        constraints = [models.UniqueConstraint(fields=["server", "issuer"], name="one_client_per_tool_server")]
