"""Rights that end with their reason: rests, the heir, the groups that providers gave, and changes of groups."""

from __future__ import annotations

import chatui.models.keys
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
        ('chatui', '0053_tool_sessions'),
    ]

    operations = [
        migrations.CreateModel(
            name='GivenGroups',
            fields=[
                ('id', models.UUIDField(default=chatui.models.keys.new_key, editable=False, primary_key=True, serialize=False)),
                ('issuer', models.CharField(max_length=250)),
                ('said', models.JSONField(default=list)),
                ('table', models.CharField(blank=True, max_length=64)),
                ('gave_staff', models.BooleanField(db_default=False, default=False)),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='GroupChange',
            fields=[
                ('id', models.UUIDField(default=chatui.models.keys.new_key, editable=False, primary_key=True, serialize=False)),
                ('changer_id', models.UUIDField()),
                ('at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.AddField(
            model_name='user',
            name='is_heir',
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
        migrations.AddField(
            model_name='user',
            name='rests_since',
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.AddConstraint(
            model_name='user',
            constraint=models.UniqueConstraint(condition=models.Q(('is_heir', True)), fields=('is_heir',), name='one_heir'),
        ),
        migrations.AddField(
            model_name='givengroups',
            name='groups',
            field=models.ManyToManyField(related_name='+', to='auth.group'),
        ),
        migrations.AddField(
            model_name='givengroups',
            name='user',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='given_groups', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='groupchange',
            name='group',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='auth.group'),
        ),
        migrations.AddConstraint(
            model_name='givengroups',
            constraint=models.UniqueConstraint(fields=('user', 'issuer'), name='one_giver_per_issuer'),
        ),
        migrations.AddIndex(
            model_name='groupchange',
            index=models.Index(fields=['changer_id', 'at'], name='group_change_by_changer'),
        ),
    ]
