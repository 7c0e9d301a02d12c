"""The sessions that conversations and people have with tool servers."""

from __future__ import annotations

import chatui.models.keys
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('chatui', '0052_hidden_in_files'),
    ]

    operations = [
        migrations.CreateModel(
            name='ToolSession',
            fields=[
                ('id', models.UUIDField(default=chatui.models.keys.new_key, editable=False, primary_key=True, serialize=False)),
                ('server', models.CharField(max_length=40)),
                ('session', models.TextField(blank=True, db_default='', default='')),
                ('conversation', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='chatui.conversation')),
                ('person', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'default_permissions': (),
                'constraints': [models.UniqueConstraint(condition=models.Q(('conversation__isnull', False)), fields=('conversation', 'server'), name='one_tool_session_per_conversation'), models.UniqueConstraint(condition=models.Q(('conversation', None)), fields=('person', 'server'), name='one_tool_session_per_person')],
            },
        ),
    ]
