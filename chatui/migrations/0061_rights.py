"""Sessions are stored under a digest of their key, and an identity has the address that its provider called verified."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from django.db import migrations, models

_STORED_CHARS = 40
"""How long a digest is. Django's keys are shorter, so what was begun twice digests nothing twice."""


def digest_keys(apps: Any, schema_editor: Any) -> None:
    """Keep everybody signed in: the cookie stays the same."""
    for model, column in ((apps.get_model("sessions", "Session"), "session_key"), (apps.get_model("chatui", "BegunSession"), "key")):
        for key in list(model._base_manager.values_list(column, flat=True)):
            if len(key) < _STORED_CHARS:
                digest = sha256(key.encode()).hexdigest()[:_STORED_CHARS]
                model._base_manager.filter(**{column: key}).update(**{column: digest})


def note_addresses(apps: Any, schema_editor: Any) -> None:
    """An account that its provider made has the provider's address."""
    identities = apps.get_model("chatui", "OutsideIdentity")._base_manager
    for identity in identities.filter(made_account=True).select_related("user").iterator():
        identities.filter(pk=identity.pk).update(email=identity.user.email)


class Migration(migrations.Migration):

    dependencies = [
        ('chatui', '0060_own_data'),
        ('sessions', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='outsideidentity',
            name='email',
            field=models.CharField(blank=True, db_default='', default='', max_length=254),
        ),
        migrations.RunPython(digest_keys, migrations.RunPython.noop),
        migrations.RunPython(note_addresses, migrations.RunPython.noop),
    ]
