#!/usr/bin/env bash
# Restores a dump of PostgreSQL (docs/operating/backup.md), and stops at the first step that fails: then nobody may be let in.
# Usage, with the product's settings in the environment and every process stopped: restore-postgresql.sh DUMP ERASURES
set -euo pipefail

dump=${1:?name the dump, and the list of erasures} erasures=${2:?name the list of erasures}
: "${CHATUI_DATABASE_URL:?is not set: it names the database to restore into}"
here=$(cd "$(dirname "$0")" && pwd)
trap 'status=$?; [ "$status" = 0 ] || echo "The restore is NOT complete: do not start the product. Mend the cause, and run this again." >&2' EXIT

export PGOPTIONS="${PGOPTIONS:-} -c client_min_messages=warning"
sql() { psql "$CHATUI_DATABASE_URL" --quiet --set=ON_ERROR_STOP=1 --single-transaction "${@/#/--command=}"; }
# This is in deploy/ of a checkout, or in share/chatui/ of an environment with the package.
if [ -f "$here/../manage.py" ]; then
    manage() { "${PYTHON:-$here/../.venv/bin/python}" "$here/../manage.py" "$@"; }
else
    manage() { "$here/../../bin/chatui" "$@"; }
fi

# Whatever can be missing is looked for before anything is removed.
[ -r "$erasures" ] || { echo "$erasures cannot be read." >&2; exit 1; }
pg_restore --list "$dump" >/dev/null
sql 'SELECT 1' >/dev/null
sql 'DROP SCHEMA public CASCADE' 'CREATE SCHEMA public'
pg_restore --no-owner --single-transaction --exit-on-error --dbname="$CHATUI_DATABASE_URL" "$dump"
manage migrate
manage audit verify
manage erasures apply "$erasures"
# Some sessions were ended since the dump, and some links were used. The keys of machines may be new: the next start records its own.
sql 'DELETE FROM django_session' \
    'UPDATE chatui_invitation SET revoked_at = now() WHERE used_at IS NULL AND revoked_at IS NULL' \
    'UPDATE chatui_passwordlink SET expires_at = now() WHERE used_at IS NULL' \
    'DELETE FROM chatui_toolsignin' \
    'DELETE FROM chatui_machinekey'
echo "Restored. Everybody has to sign in again."
