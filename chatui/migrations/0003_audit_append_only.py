"""The database itself refuses to change, remove or replace a line of the audit log, whichever way the statement comes.

A later migration that alters this table on SQLite makes it anew, without its triggers, and has to make them again:
``manage.py audit verify`` says so where they are missing.
"""

from __future__ import annotations

from typing import Any

from django.db import migrations

_REFUSAL = "the audit log is append-only"

SQLITE = {
    "chatui_audit_no_update": f"""
        CREATE TRIGGER chatui_audit_no_update BEFORE UPDATE ON chatui_auditevent
        BEGIN SELECT RAISE(ABORT, '{_REFUSAL}'); END""",
    "chatui_audit_no_delete": f"""
        CREATE TRIGGER chatui_audit_no_delete BEFORE DELETE ON chatui_auditevent
        BEGIN SELECT RAISE(ABORT, '{_REFUSAL}'); END""",
    # INSERT OR REPLACE takes the old row away without asking the trigger above; and a gap in the numbers must stay one.
    "chatui_audit_only_append": f"""
        CREATE TRIGGER chatui_audit_only_append BEFORE INSERT ON chatui_auditevent
        WHEN NEW.number <= (SELECT max(number) FROM chatui_auditevent) OR EXISTS (SELECT 1 FROM chatui_auditevent WHERE id = NEW.id)
        BEGIN SELECT RAISE(ABORT, '{_REFUSAL}'); END""",
}
POSTGRESQL = [
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


def make(apps: Any, schema_editor: Any) -> None:
    """Only for the two databases that the product is made for."""
    statements = {"sqlite": list(SQLITE.values()), "postgresql": POSTGRESQL}[schema_editor.connection.vendor]
    for statement in statements:
        schema_editor.execute(statement, params=None)


def remove(apps: Any, schema_editor: Any) -> None:
    """Back to before: on SQLite triggers have no table in the statement, on PostgreSQL they have."""
    on_table = " ON chatui_auditevent" if schema_editor.connection.vendor == "postgresql" else ""
    for name in SQLITE:
        schema_editor.execute(f"DROP TRIGGER {name}{on_table}", params=None)
    if on_table:
        schema_editor.execute("DROP FUNCTION chatui_audit_refuse()", params=None)
        schema_editor.execute("DROP FUNCTION chatui_audit_only_append()", params=None)


class Migration(migrations.Migration):
    """After the tables."""

    dependencies = [("chatui", "0002_search")]

    operations = [migrations.RunPython(make, remove)]
