"""All tables, with the full-text indexes and the audit log's guards that Django cannot describe."""

from __future__ import annotations

import uuid
from decimal import Decimal
from typing import Any

import django.contrib.auth.validators
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.comparison
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import chatui.models.keys
import chatui.models.user

FULL_TEXT = {"chatui_words": "chatui_searchentry", "chatui_passages": "chatui_documentpassage"}
"""The name of each index over the column ``terms`` of a table, and the table."""

_REFUSAL = "the audit log is append-only"

AUDIT_SQLITE = {
    "chatui_audit_no_update": f"""
        CREATE TRIGGER chatui_audit_no_update BEFORE UPDATE ON chatui_auditevent
        BEGIN SELECT RAISE(ABORT, '{_REFUSAL}'); END""",
    "chatui_audit_no_delete": f"""
        CREATE TRIGGER chatui_audit_no_delete BEFORE DELETE ON chatui_auditevent
        BEGIN SELECT RAISE(ABORT, '{_REFUSAL}'); END""",
    # INSERT OR REPLACE removes the old row without firing the trigger above; and a gap in the numbers must stay one.
    "chatui_audit_only_append": f"""
        CREATE TRIGGER chatui_audit_only_append BEFORE INSERT ON chatui_auditevent
        WHEN NEW.number <= (SELECT max(number) FROM chatui_auditevent) OR EXISTS (SELECT 1 FROM chatui_auditevent WHERE id = NEW.id)
        BEGIN SELECT RAISE(ABORT, '{_REFUSAL}'); END""",
}
"""The database itself refuses to change, remove or replace a line of the audit log. A migration that alters this table on SQLite creates
it anew, without its triggers, and must create them again; ``manage.py audit verify`` says where they are missing."""
AUDIT_POSTGRESQL = [
    f"""
        CREATE FUNCTION chatui_audit_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION '{_REFUSAL}' USING ERRCODE = 'integrity_constraint_violation'; END $$""",
    f"""
        CREATE FUNCTION chatui_audit_only_append() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF NEW.number <= (SELECT max(number) FROM chatui_auditevent) THEN
                RAISE EXCEPTION '{_REFUSAL}' USING ERRCODE = 'integrity_constraint_violation';
            END IF;
            RETURN NEW;
        END $$""",
    """
        CREATE TRIGGER chatui_audit_no_update BEFORE UPDATE ON chatui_auditevent
        FOR EACH STATEMENT EXECUTE FUNCTION chatui_audit_refuse()""",
    """
        CREATE TRIGGER chatui_audit_no_delete BEFORE DELETE OR TRUNCATE ON chatui_auditevent
        FOR EACH STATEMENT EXECUTE FUNCTION chatui_audit_refuse()""",
    """
        CREATE TRIGGER chatui_audit_only_append BEFORE INSERT ON chatui_auditevent
        FOR EACH ROW EXECUTE FUNCTION chatui_audit_only_append()""",
]

NAMED_BY_FORMER_STEPS = {
    "chatui_user_name_skeleton_key": "chatui_user_name_skeleton_f3164062_uniq",
    "chatui_user_folded_name_skeleton_key": "chatui_user_folded_name_skeleton_6a89285d_uniq",
}
"""Constraints of accounts on PostgreSQL, with the names that they have in databases that took the former steps."""


def full_text_statements(vendor: str, index: str, table: str) -> list[str]:
    """FTS5 on SQLite, GIN on PostgreSQL. The database updates the index with each row."""
    if vendor == "postgresql":
        # None of PostgreSQL's parsers is used: each word between two spaces is a lexeme. The words are stored outside the rows, so that a
        # search that finds thousands of rows does not read them.
        return [
            f"ALTER TABLE {table} SET (toast_tuple_target = 128)",
            f"CREATE INDEX {index} ON {table} USING gin (array_to_tsvector(string_to_array(terms, ' ')))",
        ]
    # ``ascii`` splits at spaces and leaves other scripts unchanged: the words are folded before they are stored. Positions and sizes are
    # not used. The triggers also run when rows go because something else was deleted.
    add = f"INSERT INTO {index}(rowid, terms) VALUES (new.id, new.terms);"
    remove = f"INSERT INTO {index}({index}, rowid, terms) VALUES ('delete', old.id, old.terms);"
    return [
        f"CREATE VIRTUAL TABLE {index} USING fts5"
        f"(terms, content='{table}', content_rowid='id', tokenize='ascii', detail='none', columnsize=0)",
        f"CREATE TRIGGER {index}_added AFTER INSERT ON {table} BEGIN {add} END",
        f"CREATE TRIGGER {index}_removed AFTER DELETE ON {table} BEGIN {remove} END",
        f"CREATE TRIGGER {index}_changed AFTER UPDATE ON {table} BEGIN {remove} {add} END",
    ]


def create_indexes_and_guards(apps: Any, schema_editor: Any) -> None:
    """The full-text indexes, the guards of the audit log, and the former names of constraints."""
    vendor = schema_editor.connection.vendor
    for index, table in FULL_TEXT.items():
        for statement in full_text_statements(vendor, index, table):
            schema_editor.execute(statement, params=None)
    for statement in {"sqlite": list(AUDIT_SQLITE.values()), "postgresql": AUDIT_POSTGRESQL}[vendor]:
        schema_editor.execute(statement, params=None)
    for name, former in NAMED_BY_FORMER_STEPS.items() if vendor == "postgresql" else ():
        schema_editor.execute(f"ALTER TABLE chatui_user RENAME CONSTRAINT {name} TO {former}", params=None)


def drop_indexes_and_guards(apps: Any, schema_editor: Any) -> None:
    """Drop what does not go with the tables."""
    is_sqlite = schema_editor.connection.vendor == "sqlite"
    on_table = "" if is_sqlite else " ON chatui_auditevent"
    for name in AUDIT_SQLITE:
        schema_editor.execute(f"DROP TRIGGER {name}{on_table}", params=None)
    for name in () if is_sqlite else ("chatui_audit_refuse", "chatui_audit_only_append"):
        schema_editor.execute(f"DROP FUNCTION {name}()", params=None)
    for index, table in FULL_TEXT.items() if is_sqlite else ():
        for trigger in ("added", "removed", "changed"):
            schema_editor.execute(f"DROP TRIGGER {index}_{trigger}", params=None)
        schema_editor.execute(f"DROP TABLE {index}", params=None)


def run_deferred(apps: Any, schema_editor: Any) -> None:
    """Add the foreign keys and indexes of the tables now, which Django would do after the last operation."""
    while schema_editor.deferred_sql:
        schema_editor.execute(schema_editor.deferred_sql.pop(0), params=None)


REPLACED = """
    0001_squashed_0051_ends_of_frames
    0052_hidden_in_files
    0053_tool_sessions
    0054_identity
    0055_summary_lines
    0056_summary_sources
    0057_sealed_keys
    0058_limits_of_people
    0059_first_token
    0060_own_data
    0061_rights
    0062_tested_servers
    0063_state_words
    0064_default_model_server
    0065_separation_proofs
""".split()
"""The migrations that created the same tables step by step before this one; ``manage.py migrate`` refuses a database with only some of them,
or with older ones."""


class Migration(migrations.Migration):
    initial = True
    replaces = [("chatui", name) for name in REPLACED]
    dependencies = [("auth", "0012_alter_user_first_name_max_length")]

    operations = [
        migrations.CreateModel(
            name="FirstAccountCode",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("digest", models.CharField(max_length=64, unique=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.CreateModel(
            name="User",
            fields=[
                ("password", models.CharField(max_length=128, verbose_name="password")),
                ("last_login", models.DateTimeField(blank=True, null=True, verbose_name="last login")),
                (
                    "is_superuser",
                    models.BooleanField(
                        default=False,
                        help_text="Designates that this user has all permissions without explicitly assigning them.",
                        verbose_name="superuser status",
                    ),
                ),
                (
                    "username",
                    models.CharField(
                        error_messages={"unique": "A user with that username already exists."},
                        help_text="Required. 150 characters or fewer. Letters, digits and @/./+/-/_ only.",
                        max_length=150,
                        unique=True,
                        validators=[django.contrib.auth.validators.UnicodeUsernameValidator()],
                        verbose_name="username",
                    ),
                ),
                ("first_name", models.CharField(blank=True, max_length=150, verbose_name="first name")),
                ("last_name", models.CharField(blank=True, max_length=150, verbose_name="last name")),
                ("email", models.EmailField(blank=True, max_length=254, verbose_name="email address")),
                (
                    "is_staff",
                    models.BooleanField(
                        default=False, help_text="Designates whether the user can log into this admin site.", verbose_name="staff status"
                    ),
                ),
                (
                    "is_active",
                    models.BooleanField(
                        default=True,
                        help_text="Designates whether this user should be treated as active. Unselect this instead of deleting accounts.",
                        verbose_name="active",
                    ),
                ),
                ("date_joined", models.DateTimeField(default=django.utils.timezone.now, verbose_name="date joined")),
                ("id", models.UUIDField(default=chatui.models.keys.new_key, editable=False, primary_key=True, serialize=False)),
                (
                    "groups",
                    models.ManyToManyField(
                        blank=True,
                        help_text="The groups this user belongs to. A user will get all permissions granted to each of their groups.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.group",
                        verbose_name="groups",
                    ),
                ),
                (
                    "user_permissions",
                    models.ManyToManyField(
                        blank=True,
                        help_text="Specific permissions for this user.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.permission",
                        verbose_name="user permissions",
                    ),
                ),
                ("name_skeleton", chatui.models.user.SkeletonField(editable=False, unique=True)),
                ("folded_name_skeleton", chatui.models.user.SkeletonField(editable=False, unique=True)),
                ("language", models.CharField(blank=True, db_default="", default="", max_length=20, verbose_name="language")),
                ("choice", models.CharField(blank=True, db_default="", default="", max_length=260)),
                ("effort", models.CharField(blank=True, db_default="", default="", max_length=8)),
                ("instructions", models.TextField(blank=True, db_default="", default="")),
                ("theme", models.CharField(blank=True, db_default="", default="", max_length=5)),
                ("time_zone", models.CharField(blank=True, db_default="", default="", max_length=64)),
                ("finds_documents", models.BooleanField(db_default=False, default=False)),
                ("sessions_ended_at", models.DateTimeField(blank=True, editable=False, null=True)),
                ("sign_in_news", models.TextField(blank=True, db_default="", default="", editable=False)),
                ("is_heir", models.BooleanField(db_default=False, default=False, editable=False)),
                ("rests_since", models.DateTimeField(blank=True, editable=False, null=True)),
            ],
            options={
                "verbose_name": "user",
                "verbose_name_plural": "users",
                "abstract": False,
                "constraints": [models.UniqueConstraint(condition=models.Q(("is_heir", True)), fields=("is_heir",), name="one_heir")],
            },
        ),
        migrations.CreateModel(
            name="AttemptWarning",
            fields=[
                ("id", models.UUIDField(default=chatui.models.keys.new_key, editable=False, primary_key=True, serialize=False)),
                ("person_name", models.CharField(max_length=150)),
                ("day", models.DateField()),
                ("attempts", models.PositiveIntegerField()),
                ("raised_at", models.DateTimeField(auto_now_add=True)),
                ("acknowledged_at", models.DateTimeField(blank=True, null=True)),
                ("acknowledged_by", models.CharField(blank=True, max_length=150)),
            ],
            options={
                "default_permissions": (),
                "indexes": [models.Index(fields=["acknowledged_at", "-raised_at"], name="warning_by_state")],
                "constraints": [models.UniqueConstraint(fields=("person_name", "day"), name="one_warning_per_person_and_day")],
            },
        ),
        migrations.CreateModel(
            name="StoredBackend",
            fields=[
                ("id", models.UUIDField(default=chatui.models.keys.new_key, editable=False, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=60, unique=True, verbose_name="name")),
                ("label", models.CharField(blank=True, max_length=80, verbose_name="display name")),
                ("is_enabled", models.BooleanField(default=True, verbose_name="enabled")),
                ("position", models.PositiveSmallIntegerField(default=0, verbose_name="position")),
                ("kind", models.CharField(default="chat", max_length=40, verbose_name="wire format")),
                ("url", models.CharField(blank=True, max_length=300, verbose_name="address")),
                ("key_name", models.CharField(blank=True, max_length=60, verbose_name="key name")),
                ("model_names", models.TextField(blank=True, verbose_name="models")),
                (
                    "effort",
                    models.CharField(
                        choices=[("low", "Low"), ("medium", "Medium"), ("high", "High")],
                        default="medium",
                        max_length=8,
                        verbose_name="reasoning effort",
                    ),
                ),
                ("first_token_seconds", models.FloatField(default=300.0)),
                ("idle_seconds", models.FloatField(default=60.0)),
                ("overall_seconds", models.FloatField(default=1800.0)),
                ("max_answer_tokens", models.PositiveIntegerField(default=0)),
                (
                    "summaries",
                    models.CharField(
                        choices=[
                            ("built-in", "Built in: the product reads the reasoning"),
                            ("model", "The summarizer, which is sent the reasoning"),
                            ("server", "Headings of the summaries that this server writes"),
                            ("none", "None"),
                        ],
                        default="built-in",
                        max_length=8,
                    ),
                ),
                ("summarizer", models.CharField(blank=True, max_length=260, verbose_name="summarizer")),
                ("changed_at", models.DateTimeField(auto_now=True, verbose_name="last changed")),
                ("groups", models.ManyToManyField(blank=True, related_name="+", to="auth.group", verbose_name="groups")),
                ("unconfirmed_by", models.CharField(blank=True, editable=False, max_length=150, verbose_name="unconfirmed change by")),
                ("context_tokens", models.PositiveIntegerField(default=0)),
                ("other_settings", models.TextField(blank=True, max_length=8000, verbose_name="other settings")),
                ("sealed_key", models.TextField(blank=True, db_default="", default="", editable=False)),
                ("tested_at", models.DateTimeField(editable=False, null=True)),
                ("tested_digest", models.CharField(blank=True, db_default="", default="", editable=False, max_length=64)),
                (
                    "is_default",
                    models.BooleanField(db_default=False, default=False, verbose_name="default for new conversations"),
                ),
            ],
            options={
                "verbose_name": "model server",
                "verbose_name_plural": "model servers",
                "ordering": ["position", "name"],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("is_default", True)), fields=("is_default",), name="one_default_model_server"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="AuditEvent",
            fields=[
                ("id", models.UUIDField(default=chatui.models.keys.new_key, editable=False, primary_key=True, serialize=False)),
                ("number", models.PositiveBigIntegerField(unique=True)),
                ("at", models.DateTimeField()),
                ("code", models.CharField(blank=True, max_length=40)),
                ("action", models.CharField(max_length=40)),
                ("way", models.CharField(max_length=20)),
                ("actor_name", models.CharField(blank=True, max_length=150)),
                ("conversation_id", models.UUIDField(null=True)),
                ("owner_name", models.CharField(blank=True, max_length=150)),
                ("address", models.CharField(blank=True, max_length=64)),
                ("detail", models.CharField(blank=True, max_length=200)),
                ("previous_hash", models.CharField(max_length=64)),
                ("hash", models.CharField(max_length=64)),
                (
                    "actor",
                    models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["-number"],
                "default_permissions": ("view",),
                "indexes": [
                    models.Index(fields=["at"], name="audit_by_time"),
                    models.Index(fields=["actor", "code", "-at"], name="audit_by_actor"),
                    models.Index(fields=["code", "-number"], name="audit_by_code"),
                    models.Index(fields=["code", "at", "actor_name"], name="audit_counts"),
                    models.Index(fields=["action", "-number"], name="audit_by_action"),
                    models.Index(fields=["way", "-number"], name="audit_by_way"),
                    models.Index(fields=["actor_name", "-number"], name="audit_by_actor_name"),
                    models.Index(fields=["owner_name", "-number"], name="audit_by_owner_name"),
                    models.Index(fields=["conversation_id", "-number"], name="audit_by_conversation"),
                ],
            },
        ),
        migrations.CreateModel(
            name="AccountChange",
            fields=[
                ("id", models.UUIDField(default=chatui.models.keys.new_key, editable=False, primary_key=True, serialize=False)),
                ("changer_id", models.UUIDField()),
                ("changed_id", models.UUIDField()),
                ("what", models.CharField(max_length=200)),
                ("at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "default_permissions": (),
                "indexes": [models.Index(fields=["changer_id", "at"], name="account_change_by_changer")],
            },
        ),
        migrations.CreateModel(
            name="PasswordLink",
            fields=[
                ("id", models.UUIDField(default=chatui.models.keys.new_key, editable=False, primary_key=True, serialize=False)),
                ("made_by_name", models.CharField(max_length=150)),
                ("made_at", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField()),
                ("used_at", models.DateTimeField(blank=True, null=True)),
                ("used_from", models.CharField(blank=True, max_length=64)),
                ("dismissed_at", models.DateTimeField(blank=True, null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="password_links", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="CountedLine",
            fields=[
                ("id", models.UUIDField(default=chatui.models.keys.new_key, editable=False, primary_key=True, serialize=False)),
                ("line", models.PositiveBigIntegerField(unique=True)),
                ("sum_line", models.PositiveBigIntegerField(null=True, unique=True)),
                ("key", models.CharField(max_length=200, null=True, unique=True)),
                ("person_id", models.UUIDField(null=True)),
                ("counts", models.JSONField(default=dict)),
                ("networks", models.JSONField(default=list)),
                ("last_at", models.DateTimeField(null=True)),
                ("ends_at", models.DateTimeField()),
            ],
            options={
                "default_permissions": (),
                "indexes": [
                    models.Index(fields=["sum_line", "ends_at"], name="counted_line_open"),
                    models.Index(fields=["person_id", "key"], name="counted_line_by_person"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Folder",
            fields=[
                ("id", models.UUIDField(default=chatui.models.keys.new_key, editable=False, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=60)),
                ("instructions", models.TextField(blank=True, db_default="", default="")),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "owner",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="folders", to=settings.AUTH_USER_MODEL),
                ),
            ],
            options={
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="Conversation",
            fields=[
                ("id", models.UUIDField(default=chatui.models.keys.new_key, editable=False, primary_key=True, serialize=False)),
                ("title", models.CharField(blank=True, max_length=120)),
                ("title_is_custom", models.BooleanField(default=False)),
                ("choice", models.CharField(blank=True, max_length=260)),
                ("model", models.CharField(blank=True, max_length=200)),
                (
                    "effort",
                    models.CharField(choices=[("low", "Low"), ("medium", "Medium"), ("high", "High")], default="medium", max_length=8),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True, verbose_name="created")),
                ("active_at", models.DateTimeField(auto_now_add=True, verbose_name="last active")),
                ("deleted_at", models.DateTimeField(blank=True, null=True)),
                (
                    "owner",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="conversations",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="owner",
                    ),
                ),
                ("imported_at", models.DateTimeField(blank=True, null=True)),
                ("unfinished_until", models.DateTimeField(blank=True, null=True)),
                ("document_header", models.TextField(blank=True)),
                ("sampled_with", models.JSONField(blank=True, null=True)),
                (
                    "imported_from",
                    models.CharField(
                        blank=True,
                        choices=[("chatgpt", "ChatGPT"), ("open_webui", "Open WebUI"), ("librechat", "LibreChat")],
                        db_default="",
                        default="",
                        max_length=16,
                    ),
                ),
                ("import_key", models.CharField(blank=True, db_default="", default="", max_length=64)),
                ("has_news", models.BooleanField(db_default=False, default=False)),
                ("archived_at", models.DateTimeField(blank=True, null=True)),
                ("is_pinned", models.BooleanField(db_default=False, default=False)),
                (
                    "folder",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="conversations",
                        to="chatui.folder",
                    ),
                ),
                ("answer_format", models.JSONField(blank=True, null=True)),
                ("temporary_until", models.DateTimeField(blank=True, null=True)),
                ("without_instructions", models.BooleanField(db_default=False, default=False)),
                ("handed_over_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "permissions": [
                    ("view_hidden_channels", "Can see hidden channels in the debug view"),
                    ("view_any_conversation", "Can open conversations of other people"),
                ],
                "verbose_name": "conversation",
                "verbose_name_plural": "conversations",
                "indexes": [
                    models.Index(fields=["owner", "-active_at"], name="conversation_by_owner"),
                    models.Index(
                        condition=models.Q(("deleted_at__isnull", False)),
                        fields=["owner", "-deleted_at", "-id"],
                        name="conversation_in_bin",
                    ),
                    models.Index(
                        condition=models.Q(("archived_at__isnull", False), ("deleted_at", None)),
                        fields=["owner", "-archived_at", "-id"],
                        name="conversation_archived",
                    ),
                    models.Index(
                        condition=models.Q(("archived_at", None), ("deleted_at", None), ("folder", None)),
                        fields=["owner", "-is_pinned", "-active_at", "-id"],
                        name="conversation_listed",
                    ),
                    models.Index(
                        condition=models.Q(("archived_at", None), ("deleted_at", None), ("folder__isnull", False)),
                        fields=["folder", "-is_pinned", "-active_at", "-id"],
                        name="conversation_in_folder",
                    ),
                    models.Index(
                        condition=models.Q(("archived_at", None), ("deleted_at", None), ("folder__isnull", False), ("has_news", True)),
                        fields=["owner", "folder"],
                        name="conversation_news_in_folder",
                    ),
                    models.Index(
                        condition=models.Q(("temporary_until__isnull", False)), fields=["temporary_until"], name="conversation_temporary"
                    ),
                    models.Index(condition=models.Q(("folder__isnull", False)), fields=["folder"], name="conversation_of_folder"),
                    models.Index(
                        condition=models.Q(("unfinished_until__isnull", False)),
                        fields=["unfinished_until"],
                        name="conversation_unfinished",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("deleted_at", None), models.Q(("import_key", ""), _negated=True)),
                        fields=("owner", "import_key"),
                        name="conversation_imported_once",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="DebugOpening",
            fields=[
                ("id", models.UUIDField(default=chatui.models.keys.new_key, editable=False, primary_key=True, serialize=False)),
                ("reason", models.CharField(blank=True, max_length=500)),
                ("minutes", models.PositiveIntegerField()),
                ("asked_at", models.DateTimeField(auto_now_add=True)),
                ("decided_at", models.DateTimeField(blank=True, null=True)),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("closed_at", models.DateTimeField(blank=True, null=True)),
                ("owner_dismissed_at", models.DateTimeField(blank=True, null=True)),
                (
                    "conversation",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="debug_requests", to="chatui.conversation"),
                ),
                (
                    "decided_by",
                    models.ForeignKey(
                        blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("person", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL)),
            ],
            options={
                "indexes": [models.Index(fields=["conversation", "person"], name="debug_request_by_conversation")],
            },
        ),
        # The constraints and indexes keep these names when the table is renamed, as they did in databases that took the former steps.
        migrations.RunPython(run_deferred, migrations.RunPython.noop),
        migrations.RenameModel(
            old_name="DebugOpening",
            new_name="DebugRequest",
        ),
        migrations.CreateModel(
            name="ApiKey",
            fields=[
                ("id", models.UUIDField(default=chatui.models.keys.new_key, editable=False, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=60, verbose_name="name")),
                ("prefix", models.CharField(max_length=11, unique=True, verbose_name="prefix")),
                ("digest", models.CharField(max_length=64, unique=True)),
                ("choices", models.JSONField(blank=True, default=list, verbose_name="models")),
                ("for_responses", models.BooleanField(db_default=True, default=True, verbose_name="may use Responses")),
                ("for_chat", models.BooleanField(db_default=True, default=True, verbose_name="may use Chat Completions")),
                ("per_minute", models.PositiveIntegerField(db_default=60, default=60, verbose_name="requests per minute")),
                ("created_at", models.DateTimeField(auto_now_add=True, verbose_name="created")),
                ("expires_at", models.DateTimeField(blank=True, null=True, verbose_name="expires")),
                ("last_used_on", models.DateField(blank=True, null=True, verbose_name="last used")),
                ("revoked_at", models.DateTimeField(blank=True, null=True, verbose_name="revoked")),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="api_keys",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="owner",
                    ),
                ),
                ("views_hidden", models.BooleanField(db_default=False, default=False, verbose_name="may read raw reasoning")),
                ("reads_all", models.BooleanField(db_default=False, default=False, verbose_name="may read responses of other keys")),
                ("made_by_name", models.CharField(blank=True, db_default="", default="", max_length=150, verbose_name="created by")),
                (
                    "tools",
                    models.JSONField(blank=True, db_default=models.Value([], models.JSONField()), default=list, verbose_name="tools"),
                ),
            ],
            options={
                "verbose_name": "API key",
                "verbose_name_plural": "API keys",
                "default_permissions": (),
                "indexes": [models.Index(fields=["owner", "-created_at"], name="api_key_by_owner")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("for_responses", True), ("for_chat", True), _connector="OR"), name="api_key_speaks_a_format"
                    ),
                    models.CheckConstraint(condition=models.Q(("per_minute__gt", 0)), name="api_key_may_ask"),
                ],
            },
        ),
        migrations.CreateModel(
            name="ToolRule",
            fields=[
                ("id", models.UUIDField(default=chatui.models.keys.new_key, editable=False, primary_key=True, serialize=False)),
                ("tool", models.CharField(max_length=64)),
                ("is_allowed", models.BooleanField()),
                ("fingerprint", models.CharField(blank=True, db_default="", default="", max_length=32)),
                (
                    "conversation",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="tool_rules", to="chatui.conversation"),
                ),
            ],
            options={
                "default_permissions": (),
                "constraints": [models.UniqueConstraint(fields=("conversation", "tool"), name="one_rule_per_tool")],
            },
        ),
        migrations.CreateModel(
            name="BegunSession",
            fields=[
                ("id", models.UUIDField(default=chatui.models.keys.new_key, editable=False, primary_key=True, serialize=False)),
                ("key", models.CharField(max_length=40, unique=True)),
                ("begun_at", models.DateTimeField(auto_now_add=True)),
                ("address", models.CharField(blank=True, max_length=64)),
                ("device", models.CharField(blank=True, max_length=60)),
                ("way", models.CharField(blank=True, max_length=60)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="begun_sessions", to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("outside_id", models.CharField(blank=True, db_default="", default="", max_length=255)),
            ],
            options={
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="Invitation",
            fields=[
                ("id", models.UUIDField(default=chatui.models.keys.new_key, editable=False, primary_key=True, serialize=False)),
                ("note", models.CharField(blank=True, max_length=100, verbose_name="for whom")),
                ("made_at", models.DateTimeField(auto_now_add=True, verbose_name="created")),
                ("expires_at", models.DateTimeField(verbose_name="expires")),
                ("used_at", models.DateTimeField(blank=True, null=True, verbose_name="used")),
                ("revoked_at", models.DateTimeField(blank=True, null=True, verbose_name="revoked")),
                (
                    "group",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="auth.group",
                        verbose_name="group",
                    ),
                ),
                (
                    "made_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="invitations_made",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="created by",
                    ),
                ),
                (
                    "used_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="used by",
                    ),
                ),
            ],
            options={
                "verbose_name": "invitation",
                "verbose_name_plural": "invitations",
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="SecondFactor",
            fields=[
                ("id", models.UUIDField(default=chatui.models.keys.new_key, editable=False, primary_key=True, serialize=False)),
                ("confirmed_at", models.DateTimeField(blank=True, null=True)),
                ("last_step", models.BigIntegerField(db_default=0, default=0)),
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="second_factor", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="OutsideIdentity",
            fields=[
                ("id", models.UUIDField(default=chatui.models.keys.new_key, editable=False, primary_key=True, serialize=False)),
                ("issuer", models.CharField(max_length=250)),
                ("subject", models.CharField(max_length=255)),
                ("provider", models.CharField(max_length=40)),
                ("name", models.CharField(blank=True, max_length=150)),
                ("made_account", models.BooleanField(db_default=False, default=False)),
                ("made_at", models.DateTimeField(auto_now_add=True)),
                ("last_used_at", models.DateTimeField(blank=True, null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="outside_identities", to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("directory_id", models.CharField(blank=True, db_default="", default="", max_length=255)),
                ("email", models.CharField(blank=True, db_default="", default="", max_length=254)),
            ],
            options={
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(fields=("issuer", "subject"), name="one_account_per_identity"),
                    models.UniqueConstraint(fields=("user", "issuer"), name="one_identity_per_issuer"),
                ],
            },
        ),
        migrations.CreateModel(
            name="RecoveryCode",
            fields=[
                ("id", models.UUIDField(default=chatui.models.keys.new_key, editable=False, primary_key=True, serialize=False)),
                ("digest", models.CharField(max_length=64)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="recovery_codes", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "default_permissions": (),
                "constraints": [models.UniqueConstraint(fields=("user", "digest"), name="one_row_per_recovery_code")],
            },
        ),
        migrations.CreateModel(
            name="UsageCount",
            fields=[
                (
                    "person",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("day", models.DateField()),
                ("month", models.DateField()),
                ("day_tokens", models.BigIntegerField(default=0)),
                ("day_turns", models.BigIntegerField(default=0)),
                ("month_tokens", models.BigIntegerField(default=0)),
                ("month_turns", models.BigIntegerField(default=0)),
                ("reserved_tokens", models.BigIntegerField(default=0)),
                ("reserved_turns", models.BigIntegerField(default=0)),
            ],
            options={
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="ModelPrice",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("model", models.CharField(help_text="The name of the model in the usage tables.", max_length=200, verbose_name="model")),
                ("since", models.DateField(verbose_name="valid from")),
                (
                    "input_price",
                    models.DecimalField(
                        decimal_places=4,
                        max_digits=12,
                        validators=[django.core.validators.MinValueValidator(Decimal("0"))],
                        verbose_name="price per million input tokens",
                    ),
                ),
                (
                    "cached_price",
                    models.DecimalField(
                        blank=True,
                        decimal_places=4,
                        max_digits=12,
                        null=True,
                        validators=[django.core.validators.MinValueValidator(Decimal("0"))],
                        verbose_name="price per million cached input tokens",
                    ),
                ),
                (
                    "output_price",
                    models.DecimalField(
                        decimal_places=4,
                        max_digits=12,
                        validators=[django.core.validators.MinValueValidator(Decimal("0"))],
                        verbose_name="price per million output tokens",
                    ),
                ),
            ],
            options={
                "verbose_name": "model price",
                "verbose_name_plural": "model prices",
                "default_permissions": (),
                "constraints": [models.UniqueConstraint(fields=("model", "since"), name="one_price_from_a_day")],
            },
        ),
        migrations.CreateModel(
            name="UsageEntry",
            fields=[
                ("id", models.UUIDField(default=chatui.models.keys.new_key, editable=False, primary_key=True, serialize=False)),
                ("day", models.DateField(db_index=True)),
                (
                    "kind",
                    models.CharField(
                        choices=[("answer", "Answers"), ("title", "Titles"), ("summary", "Summaries of reasoning")], max_length=12
                    ),
                ),
                ("choice", models.CharField(blank=True, max_length=260)),
                ("backend", models.CharField(blank=True, max_length=100)),
                ("model", models.CharField(blank=True, max_length=200)),
                ("turns", models.PositiveSmallIntegerField(default=0)),
                ("input_tokens", models.PositiveBigIntegerField(default=0)),
                ("cached_tokens", models.PositiveBigIntegerField(default=0)),
                ("output_tokens", models.PositiveBigIntegerField(default=0)),
                ("is_estimate", models.BooleanField(default=False)),
                (
                    "key",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="chatui.apikey",
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "permissions": [("view_usage", "Can see how much everybody uses"), ("change_limits", "Can set limits and prices of usage")],
                "default_permissions": (),
                "indexes": [
                    models.Index(fields=["person", "day"], name="usage_by_person"),
                    models.Index(condition=models.Q(("key__isnull", False)), fields=["key"], name="usage_of_key"),
                ],
            },
        ),
        migrations.CreateModel(
            name="UsageLimit",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("day_tokens", models.PositiveBigIntegerField(blank=True, null=True, verbose_name="tokens per day")),
                ("day_turns", models.PositiveBigIntegerField(blank=True, null=True, verbose_name="answers per day")),
                ("month_tokens", models.PositiveBigIntegerField(blank=True, null=True, verbose_name="tokens per month")),
                ("month_turns", models.PositiveBigIntegerField(blank=True, null=True, verbose_name="answers per month")),
                (
                    "group",
                    models.OneToOneField(
                        blank=True,
                        help_text="Empty: everybody who is not in a group with limits.",
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="auth.group",
                        verbose_name="group",
                    ),
                ),
                (
                    "person",
                    models.OneToOneField(
                        blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "verbose_name": "usage limit",
                "verbose_name_plural": "usage limits",
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(
                        django.db.models.functions.comparison.Coalesce("group_id", models.Value(0), output_field=models.IntegerField()),
                        condition=models.Q(("person", None)),
                        name="one_limit_for_everybody",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("group", None), ("person", None), _connector="OR"), name="limit_of_group_or_person"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="FileContent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("sha256", models.CharField(max_length=64)),
                ("size", models.PositiveBigIntegerField()),
                ("media_type", models.CharField(max_length=100)),
                ("width", models.PositiveIntegerField(blank=True, null=True)),
                ("height", models.PositiveIntegerField(blank=True, null=True)),
                (
                    "owner",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("is_encrypted", models.BooleanField(default=False)),
            ],
            options={
                "default_permissions": (),
                "constraints": [models.UniqueConstraint(fields=("owner", "sha256"), name="one_content_per_owner")],
            },
        ),
        migrations.CreateModel(
            name="FilePiece",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                ("data", models.BinaryField()),
                (
                    "content",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="pieces", to="chatui.filecontent"
                    ),
                ),
            ],
            options={
                "default_permissions": (),
                "constraints": [models.UniqueConstraint(fields=("content", "number"), name="one_piece_per_place")],
            },
        ),
        migrations.CreateModel(
            name="DocumentText",
            fields=[
                (
                    "content",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="document",
                        serialize=False,
                        to="chatui.filecontent",
                    ),
                ),
                ("state", models.CharField(max_length=16)),
                ("kind", models.CharField(blank=True, max_length=40)),
                ("reason", models.CharField(blank=True, max_length=300)),
                ("places", models.PositiveIntegerField(default=0)),
                ("places_without_text", models.PositiveIntegerField(default=0)),
                ("characters", models.PositiveIntegerField(default=0)),
                ("tokens", models.PositiveIntegerField(default=0)),
                ("is_counted", models.BooleanField(default=False)),
                ("is_cut", models.BooleanField(default=False)),
                ("bytes", models.PositiveBigIntegerField(db_default=0, default=0)),
                ("left_out", models.TextField(blank=True, db_default="", default="")),
            ],
            options={
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="DocumentPart",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                ("label", models.CharField(blank=True, max_length=200)),
                ("text", models.TextField()),
                ("tokens", models.PositiveIntegerField(default=0)),
                ("content", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="parts", to="chatui.filecontent")),
            ],
            options={
                "default_permissions": (),
                "constraints": [models.UniqueConstraint(fields=("content", "number"), name="one_part_per_number")],
            },
        ),
        migrations.CreateModel(
            name="DocumentPassage",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                ("part", models.PositiveIntegerField()),
                ("start", models.PositiveIntegerField()),
                ("length", models.PositiveIntegerField()),
                ("terms", models.TextField()),
                ("content", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="chatui.filecontent")),
            ],
            options={
                "default_permissions": (),
                "constraints": [models.UniqueConstraint(fields=("content", "number"), name="one_passage_per_number")],
            },
        ),
        migrations.CreateModel(
            name="ProvisioningToken",
            fields=[
                ("id", models.UUIDField(default=chatui.models.keys.new_key, editable=False, primary_key=True, serialize=False)),
                ("provider", models.CharField(max_length=40, unique=True)),
                ("digest", models.CharField(max_length=64, unique=True)),
                ("made_at", models.DateTimeField(auto_now_add=True)),
                ("last_used_on", models.DateField(blank=True, null=True)),
            ],
            options={
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="ClosedAccount",
            fields=[
                ("id", models.UUIDField(default=chatui.models.keys.new_key, editable=False, primary_key=True, serialize=False)),
                ("closed_at", models.DateTimeField(auto_now_add=True)),
                (
                    "cause",
                    models.CharField(
                        choices=[
                            ("staff", "by staff"),
                            ("operator", "by the operator"),
                            ("own", "by the account's owner"),
                            ("provisioning", "by the directory"),
                            ("logout", "by the sign-in service"),
                        ],
                        max_length=16,
                    ),
                ),
                ("source", models.CharField(blank=True, max_length=40)),
                ("by_name", models.CharField(blank=True, max_length=150)),
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="closed_account", to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("is_going", models.BooleanField(db_default=False, default=False)),
            ],
            options={
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="ProvisionedAccount",
            fields=[
                ("id", models.UUIDField(default=chatui.models.keys.new_key, editable=False, primary_key=True, serialize=False)),
                ("issuer", models.CharField(max_length=250)),
                ("external_id", models.CharField(blank=True, max_length=255)),
                ("user_name", models.CharField(max_length=255)),
                ("name_key", models.CharField(max_length=255)),
                ("given_name", models.CharField(blank=True, max_length=150)),
                ("family_name", models.CharField(blank=True, max_length=150)),
                ("email", models.CharField(blank=True, max_length=254)),
                ("made_account", models.BooleanField(db_default=False, default=False)),
                ("made_at", models.DateTimeField(auto_now_add=True)),
                ("changed_at", models.DateTimeField(auto_now=True)),
                ("deleted_at", models.DateTimeField(blank=True, null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="provisioned_accounts", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(fields=("user", "issuer"), name="one_provisioned_account_per_issuer"),
                    models.UniqueConstraint(
                        condition=models.Q(("external_id", ""), _negated=True), fields=("issuer", "external_id"), name="one_per_external_id"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("deleted_at", None)), fields=("issuer", "name_key"), name="one_per_provisioned_name"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ProvisionedGroup",
            fields=[
                ("id", models.UUIDField(default=chatui.models.keys.new_key, editable=False, primary_key=True, serialize=False)),
                ("issuer", models.CharField(max_length=250)),
                ("external_id", models.CharField(blank=True, max_length=255)),
                ("name", models.CharField(max_length=255)),
                ("made_at", models.DateTimeField(auto_now_add=True)),
                ("changed_at", models.DateTimeField(auto_now=True)),
                ("members", models.ManyToManyField(related_name="groups", to="chatui.provisionedaccount")),
            ],
            options={
                "default_permissions": (),
                "constraints": [models.UniqueConstraint(fields=("issuer", "name"), name="one_group_per_provisioned_name")],
            },
        ),
        migrations.CreateModel(
            name="Passkey",
            fields=[
                ("id", models.UUIDField(default=chatui.models.keys.new_key, editable=False, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=60)),
                ("site", models.CharField(max_length=253)),
                ("credential_id", models.BinaryField(max_length=1023)),
                ("digest", models.CharField(max_length=64, unique=True)),
                ("public_key", models.BinaryField(max_length=1200)),
                ("sign_count", models.BigIntegerField(db_default=0, default=0)),
                ("made_at", models.DateTimeField(auto_now_add=True)),
                ("last_used_at", models.DateTimeField(blank=True, null=True)),
                (
                    "user",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="passkeys", to=settings.AUTH_USER_MODEL),
                ),
            ],
            options={
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="Examination",
            fields=[
                ("id", models.UUIDField(default=chatui.models.keys.new_key, editable=False, primary_key=True, serialize=False)),
                ("server", models.CharField(max_length=60, unique=True)),
                ("run", models.UUIDField(default=chatui.models.keys.new_key)),
                ("begun_at", models.DateTimeField()),
                ("lease_until", models.DateTimeField()),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                ("asked", models.PositiveSmallIntegerField(default=0)),
                ("kind", models.CharField(blank=True, max_length=40)),
                ("report", models.JSONField(blank=True, null=True)),
            ],
            options={
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="RequiredFactor",
            fields=[
                (
                    "group",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="required_factor",
                        serialize=False,
                        to="auth.group",
                    ),
                ),
                ("since", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="Message",
            fields=[
                ("id", models.UUIDField(default=chatui.models.keys.new_key, editable=False, primary_key=True, serialize=False)),
                ("position", models.PositiveIntegerField()),
                ("text", models.TextField()),
                ("raw", models.BinaryField(blank=True, null=True)),
                ("role", models.CharField(max_length=128)),
                ("channel", models.CharField(blank=True, max_length=128)),
                ("intent", models.CharField(blank=True, max_length=128)),
                ("recipient", models.CharField(blank=True, max_length=128)),
                ("name", models.CharField(blank=True, max_length=128)),
                ("call_id", models.CharField(blank=True, max_length=128)),
                ("terminator", models.CharField(max_length=16)),
                ("is_visible", models.BooleanField()),
                ("is_complete", models.BooleanField(default=True)),
                ("error_code", models.CharField(blank=True, max_length=40)),
                (
                    "author",
                    models.CharField(
                        choices=[
                            ("person", "Person"),
                            ("model", "Model"),
                            ("product", "Product"),
                            ("import", "Import"),
                            ("former", "Former owner"),
                        ],
                        max_length=8,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "conversation",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="messages", to="chatui.conversation"
                    ),
                ),
                (
                    "parent",
                    models.ForeignKey(
                        blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name="children", to="chatui.message"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ActiveLeaf",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("person", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL)),
                (
                    "conversation",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="active_leaves", to="chatui.conversation"
                    ),
                ),
                ("message", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="chatui.message")),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("conversation", "person"), name="one_active_leaf_per_person")],
            },
        ),
        migrations.CreateModel(
            name="SearchEntry",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("terms", models.TextField()),
                (
                    "conversation",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="chatui.conversation"),
                ),
                (
                    "message",
                    models.OneToOneField(null=True, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="chatui.message"),
                ),
            ],
            options={
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("message", None)), fields=("conversation",), name="one_search_entry_per_title"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ShareLink",
            fields=[
                ("id", models.UUIDField(default=chatui.models.keys.new_key, editable=False, primary_key=True, serialize=False)),
                ("token", models.CharField(max_length=22, unique=True)),
                ("title", models.CharField(blank=True, max_length=120)),
                ("shown_name", models.CharField(blank=True, max_length=150)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                (
                    "conversation",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="share_links", to="chatui.conversation"),
                ),
                (
                    "created_by",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="share_links", to=settings.AUTH_USER_MODEL),
                ),
                ("leaf", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="chatui.message")),
                ("has_documents", models.BooleanField(default=False)),
            ],
            options={
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="Turn",
            fields=[
                ("id", models.UUIDField(default=chatui.models.keys.new_key, editable=False, primary_key=True, serialize=False)),
                ("client_id", models.UUIDField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("running", "Thinking or writing"),
                            ("completed", "Completed"),
                            ("stopped", "Stopped"),
                            ("incomplete", "Not finished: cut off"),
                            ("failed", "Not finished: failed"),
                            ("interrupted", "Not finished: interrupted"),
                        ],
                        default="running",
                        max_length=12,
                    ),
                ),
                ("lease_owner", models.CharField(blank=True, max_length=64)),
                ("lease_until", models.DateTimeField()),
                ("effort", models.CharField(choices=[("low", "Low"), ("medium", "Medium"), ("high", "High")], max_length=8)),
                ("choice", models.CharField(blank=True, max_length=260)),
                ("request", models.BinaryField(blank=True, null=True)),
                ("backend", models.CharField(blank=True, max_length=100)),
                ("model", models.CharField(blank=True, max_length=200)),
                ("input_tokens", models.PositiveIntegerField(blank=True, null=True)),
                ("output_tokens", models.PositiveIntegerField(blank=True, null=True)),
                ("turns_left_out", models.PositiveIntegerField(default=0)),
                ("thought_seconds", models.PositiveIntegerField(blank=True, null=True)),
                ("error_code", models.CharField(blank=True, max_length=40, verbose_name="error code")),
                ("error_detail", models.TextField(blank=True)),
                ("started_at", models.DateTimeField(auto_now_add=True, verbose_name="started")),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                (
                    "asked_by",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "conversation",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="turns", to="chatui.conversation"),
                ),
                ("question", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="answers", to="chatui.message")),
                (
                    "continued_message",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="chatui.message",
                    ),
                ),
                ("stop_requested", models.BooleanField(default=False)),
                ("context_size", models.PositiveIntegerField(blank=True, null=True)),
                ("context_used", models.PositiveIntegerField(blank=True, null=True)),
                ("error_cause", models.CharField(blank=True, db_default="", max_length=200)),
                ("retry_after", models.PositiveIntegerField(blank=True, null=True)),
                (
                    "key",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="chatui.apikey",
                    ),
                ),
                ("reserved_tokens", models.PositiveBigIntegerField(blank=True, null=True)),
                ("by_server", models.JSONField(blank=True, null=True)),
                ("is_queued", models.BooleanField(db_default=False, default=False)),
                ("first_token_ms", models.PositiveIntegerField(blank=True, null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("continued_message__isnull", False)), fields=["continued_message"], name="turn_that_continues"
                    ),
                    models.Index(condition=models.Q(("key__isnull", False)), fields=["key"], name="turn_of_key"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state", "running")), fields=("conversation",), name="one_running_turn_per_conversation"
                    ),
                    models.UniqueConstraint(fields=("asked_by", "client_id"), name="one_turn_per_ask"),
                ],
            },
        ),
        migrations.AddField(
            model_name="message",
            name="turn",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="messages",
                to="chatui.turn",
            ),
        ),
        migrations.AddIndex(
            model_name="message",
            index=models.Index(
                condition=models.Q(("error_code", ""), _negated=True), fields=["error_code"], name="messages_with_a_problem"
            ),
        ),
        migrations.AddIndex(
            model_name="message",
            index=models.Index(condition=models.Q(("turn__isnull", False)), fields=["turn"], name="message_of_turn"),
        ),
        migrations.AddConstraint(
            model_name="message",
            constraint=models.UniqueConstraint(fields=("conversation", "position"), name="one_message_per_position"),
        ),
        migrations.AddField(
            model_name="message",
            name="activities",
            field=models.JSONField(blank=True, null=True),
        ),
        migrations.CreateModel(
            name="TurnPiece",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                ("frame", models.UUIDField()),
                ("header", models.TextField(blank=True)),
                ("text", models.TextField(blank=True)),
                (
                    "turn",
                    models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="pieces", to="chatui.turn"),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("turn", "number"), name="one_piece_per_number")],
            },
        ),
        migrations.CreateModel(
            name="ToolCall",
            fields=[
                ("id", models.UUIDField(default=chatui.models.keys.new_key, editable=False, primary_key=True, serialize=False)),
                ("call_id", models.CharField(max_length=128)),
                ("tool", models.CharField(max_length=64)),
                ("claimed_at", models.DateTimeField(auto_now_add=True)),
                ("turn", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="chatui.turn")),
            ],
            options={
                "default_permissions": (),
                "constraints": [models.UniqueConstraint(fields=("turn", "call_id"), name="one_claim_per_call")],
            },
        ),
        migrations.CreateModel(
            name="OpenedPage",
            fields=[
                ("id", models.UUIDField(default=chatui.models.keys.new_key, editable=False, primary_key=True, serialize=False)),
                ("cursor", models.PositiveIntegerField()),
                ("url", models.TextField(blank=True)),
                ("title", models.TextField(blank=True)),
                ("turn", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="chatui.turn")),
            ],
            options={
                "default_permissions": (),
                "constraints": [models.UniqueConstraint(fields=("turn", "cursor"), name="one_page_per_cursor")],
            },
        ),
        migrations.CreateModel(
            name="ProgramAnswer",
            fields=[
                ("id", models.UUIDField(default=chatui.models.keys.new_key, editable=False, primary_key=True, serialize=False)),
                ("is_kept", models.BooleanField(db_default=True, default=True)),
                ("orders", models.TextField(blank=True, db_default="", default="")),
                ("given", models.JSONField(default=dict)),
                (
                    "key",
                    models.ForeignKey(
                        blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="chatui.apikey"
                    ),
                ),
                (
                    "turn",
                    models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name="program_answer", to="chatui.turn"),
                ),
            ],
            options={
                "default_permissions": (),
                "indexes": [models.Index(condition=models.Q(("is_kept", False)), fields=["id"], name="program_answer_to_erase")],
            },
        ),
        migrations.CreateModel(
            name="ToolApproval",
            fields=[
                ("id", models.UUIDField(default=chatui.models.keys.new_key, editable=False, primary_key=True, serialize=False)),
                ("call_id", models.CharField(max_length=128)),
                ("tool", models.CharField(max_length=64)),
                ("title", models.CharField(max_length=80)),
                ("fingerprint", models.CharField(max_length=32)),
                ("arguments", models.TextField(blank=True)),
                (
                    "decision",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting for a decision"),
                            ("once", "Allowed once"),
                            ("always", "Allowed in this conversation"),
                            ("declined", "Declined"),
                            ("never", "Declined and switched off in this conversation"),
                            ("lapsed", "Declined, because nobody decided in time"),
                            ("ruled", "Allowed earlier in this conversation"),
                        ],
                        default="waiting",
                        max_length=8,
                    ),
                ),
                ("asked_at", models.DateTimeField(auto_now_add=True)),
                ("lapses_at", models.DateTimeField()),
                ("decided_at", models.DateTimeField(blank=True, null=True)),
                ("turn", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="approvals", to="chatui.turn")),
            ],
            options={
                "default_permissions": (),
                "constraints": [models.UniqueConstraint(fields=("turn", "call_id"), name="one_approval_per_call")],
            },
        ),
        migrations.CreateModel(
            name="StoredFile",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=120)),
                ("source", models.CharField(choices=[("tool", "Tool"), ("person", "Person")], max_length=8)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("content", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="files", to="chatui.filecontent")),
                (
                    "conversation",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="files", to="chatui.conversation"),
                ),
                ("owner", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL)),
                (
                    "turn",
                    models.ForeignKey(
                        blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name="files", to="chatui.turn"
                    ),
                ),
            ],
            options={
                "default_permissions": (),
                "constraints": [models.UniqueConstraint(fields=("turn", "name"), name="one_file_per_name_of_turn")],
            },
        ),
        migrations.AlterField(
            model_name="StoredFile",
            name="conversation",
            field=models.ForeignKey(
                blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name="files", to="chatui.conversation"
            ),
        ),
        migrations.AddField(
            model_name="StoredFile",
            name="brought_in",
            field=models.UUIDField(blank=True, null=True),
        ),
        migrations.CreateModel(
            name="Rating",
            fields=[
                ("id", models.UUIDField(default=chatui.models.keys.new_key, editable=False, primary_key=True, serialize=False)),
                ("verdict", models.CharField(choices=[("up", "Good answer"), ("down", "Bad answer")], max_length=4)),
                (
                    "reason",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("wrong", "It is wrong"),
                            ("unsafe", "It is harmful or unsafe"),
                            ("instruction", "It did not do what I asked"),
                            ("slow", "It took too long"),
                            ("long", "It is too long"),
                            ("other", "Something else"),
                        ],
                        max_length=12,
                    ),
                ),
                ("note", models.CharField(blank=True, max_length=1000)),
                ("rated_at", models.DateTimeField(db_index=True)),
                ("message", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="ratings", to="chatui.message")),
                (
                    "person",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="ratings", to=settings.AUTH_USER_MODEL),
                ),
            ],
            options={
                "permissions": [("export_ratings", "Can export ratings with the visible conversation before each")],
                "default_permissions": (),
                "constraints": [models.UniqueConstraint(fields=("message", "person"), name="one_rating_per_answer")],
            },
        ),
        migrations.CreateModel(
            name="SentDocument",
            fields=[
                (
                    "message",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="chatui.message",
                    ),
                ),
                (
                    "use",
                    models.CharField(
                        choices=[
                            ("whole", "Whole"),
                            ("first", "Beginning"),
                            ("places", "Chosen pages or sheets"),
                            ("search", "Search only"),
                        ],
                        default="whole",
                        max_length=8,
                    ),
                ),
                ("places", models.CharField(blank=True, max_length=200)),
                ("tokens", models.PositiveIntegerField(default=0)),
                ("end", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="chatui.message")),
                (
                    "file",
                    models.ForeignKey(
                        blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="sent", to="chatui.storedfile"
                    ),
                ),
            ],
            options={
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="ToolSession",
            fields=[
                ("id", models.UUIDField(default=chatui.models.keys.new_key, editable=False, primary_key=True, serialize=False)),
                ("server", models.CharField(max_length=40)),
                ("session", models.TextField(blank=True, db_default="", default="")),
                (
                    "conversation",
                    models.ForeignKey(
                        blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="chatui.conversation"
                    ),
                ),
                ("person", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL)),
            ],
            options={
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("conversation__isnull", False)),
                        fields=("conversation", "server"),
                        name="one_tool_session_per_conversation",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("conversation", None)), fields=("person", "server"), name="one_tool_session_per_person"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="GivenGroups",
            fields=[
                ("id", models.UUIDField(default=chatui.models.keys.new_key, editable=False, primary_key=True, serialize=False)),
                ("issuer", models.CharField(max_length=250)),
                ("said", models.JSONField(default=list)),
                ("table", models.CharField(blank=True, max_length=64)),
                ("gave_staff", models.BooleanField(db_default=False, default=False)),
                ("groups", models.ManyToManyField(related_name="+", to="auth.group")),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="given_groups", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "default_permissions": (),
                "constraints": [models.UniqueConstraint(fields=("user", "issuer"), name="one_giver_per_issuer")],
            },
        ),
        migrations.CreateModel(
            name="GroupChange",
            fields=[
                ("id", models.UUIDField(default=chatui.models.keys.new_key, editable=False, primary_key=True, serialize=False)),
                ("changer_id", models.UUIDField()),
                ("at", models.DateTimeField(auto_now_add=True)),
                ("group", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="auth.group")),
            ],
            options={
                "default_permissions": (),
                "indexes": [models.Index(fields=["changer_id", "at"], name="group_change_by_changer")],
            },
        ),
        migrations.CreateModel(
            name="SeparationProof",
            fields=[
                ("id", models.UUIDField(default=chatui.models.keys.new_key, editable=False, primary_key=True, serialize=False)),
                ("digest", models.CharField(max_length=64, unique=True)),
                ("server", models.CharField(db_index=True, max_length=64)),
                ("proof", models.UUIDField()),
                ("version", models.CharField(blank=True, max_length=64)),
                ("proved_at", models.DateTimeField()),
            ],
            options={
                "abstract": False,
                "default_permissions": (),
            },
        ),
        migrations.RunPython(create_indexes_and_guards, drop_indexes_and_guards),
        # If statements were left for after the last operation, Django would record the replaced names later, each in its own transaction: a
        # process that was killed meanwhile would leave a database that looks half upgraded.
        migrations.RunPython(run_deferred, migrations.RunPython.noop),
    ]
