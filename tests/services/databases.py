"""Creates temporary databases on the PostgreSQL server of CHATUI_TEST_DATABASE_URL, and servers that a test may stop."""

import atexit
import json
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg
import pytest

from tests.support.deployments import prepared
from tests.support.served import Deployment, free_port


class OwnServer:
    """A PostgreSQL server of one test, from Debian's packages: started, stopped and frozen at will. ``url`` leads to its empty database."""

    def __init__(self) -> None:
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
        if not found:
            pytest.skip("There is no /usr/lib/postgresql/*/bin/pg_ctl on this machine (Debian: apt-get install postgresql).")
        self._programs = found[-1].parent
        self._user = "postgres" if os.getuid() == 0 else None  # PostgreSQL refuses to run as root
        self._place = Path(tempfile.mkdtemp())
        if self._user:
            os.chown(self._place, pwd.getpwnam(self._user).pw_uid, -1)
        self.port = free_port()
        self.url = f"postgres://postgres@127.0.0.1:{self.port}/postgres"
        self._run("initdb", "--pgdata", "data", "--username", "postgres", "--auth", "trust", "--no-sync")
        self.start()

    def start(self) -> None:
        """Start it, and wait until it accepts connections."""
        self._control("start", "--options", f"-p {self.port} -k {self._place} -c fsync=off -c listen_addresses=127.0.0.1")

    def stop(self) -> None:
        """End all of its connections, and then the server."""
        self._control("stop", "--mode", "fast")

    def become_standby(self) -> None:
        """Start again as a server that recovers and accepts no writes, as the former primary after a failover."""
        self.stop()
        (self._place / "data/standby.signal").touch()
        self.start()

    def promote(self) -> None:
        """Make a server that recovers the primary, without a restart."""
        self._control("promote")

    def signal(self, how: signal.Signals) -> None:
        """Send a signal to each of its processes."""
        main = int((self._place / "data/postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{main}/task/{main}/children").read_text().split()
        for process in (main, *map(int, children)):
            with suppress(ProcessLookupError):  # a child that ended meanwhile
                os.kill(process, how)

    def remove(self) -> None:
        """End it, and delete its files."""
        with suppress(subprocess.CalledProcessError):
            self._control("stop", "--mode", "immediate")
        shutil.rmtree(self._place)

    def _control(self, *arguments: str) -> None:
        self._run("pg_ctl", "--wait", "--silent", "--log", "log", "--pgdata", "data", *arguments)

    def _run(self, program: str, *arguments: str) -> None:
        quiet = subprocess.DEVNULL  # a pipe would stay open as long as the server runs
        subprocess.run([self._programs / program, *arguments], cwd=self._place, user=self._user, stdout=quiet, stderr=quiet, check=True)


@contextmanager
def own_server() -> Iterator[OwnServer]:
    """A server that is removed afterwards."""
    server = OwnServer()
    try:
        yield server
    finally:
        server.remove()


@contextmanager
def own_database(*, is_empty: bool = False) -> Iterator[str]:
    """The address of a new database, which is dropped afterwards, even while in use. It has all tables, or none if ``is_empty``."""
    name = _new_name()
    _execute(f'CREATE DATABASE "{name}"' if is_empty else f'CREATE DATABASE "{name}" TEMPLATE "{_template()}"')
    try:
        yield _address(name)
    finally:
        _drop(name)


@cache
def _template() -> str:
    """The name of a template database with all tables, created once per process: copying it takes a fraction of a migration."""
    name = _new_name()
    _execute(f'CREATE DATABASE "{name}"')
    atexit.register(_drop, name)
    create_tables(_address(name))
    return name


def create_tables(address: str) -> None:
    """Create all tables: from a dump of those that another process has migrated, if PostgreSQL's programs are here, which takes a tenth."""
    with prepared.kept("postgresql", "chatui/migrations") as place:
        dump, new = place / "dump", place / "dump.new"
        if not dump.exists():
            with tempfile.TemporaryDirectory() as data:
                Deployment(Path(data), CHATUI_DATABASE_URL=address).manage("migrate", "--verbosity", "0")
            if shutil.which("pg_dump") and shutil.which("pg_restore"):
                made = subprocess.run(["pg_dump", "--format=custom", f"--file={new}", address], capture_output=True, check=False)
                if made.returncode == 0:  # a server that is newer than the programs refuses
                    new.rename(dump)
            return
    subprocess.run(["pg_restore", "--no-owner", "--single-transaction", f"--dbname={address}", dump], check=True)


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    """The address of a new database."""
    with own_database() as address:
        yield address


@pytest.fixture(scope="module")
def deployment(database: str, tmp_path_factory: pytest.TempPathFactory) -> Deployment:
    """The product with this database and two people, without a server."""
    deployment = Deployment(tmp_path_factory.mktemp("data"), CHATUI_DATABASE_URL=database)
    deployment.make_people(ada=(False, []), bela=(False, []))
    return deployment


def answer_of(deployment: Deployment, code: str) -> Any:
    """What a program in the shell of the product prints as JSON behind the word ANSWER."""
    return json.loads(deployment.manage("shell", "--no-imports", "-c", code).split("ANSWER", 1)[1])


def _new_name() -> str:
    return f"chatui_test_{uuid4().hex[:10]}"


def _address(name: str) -> str:
    return urlunsplit(urlsplit(os.environ["CHATUI_TEST_DATABASE_URL"])._replace(path=f"/{name}"))


def _drop(name: str) -> None:
    _execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def _execute(statement: str) -> None:
    with psycopg.connect(os.environ["CHATUI_TEST_DATABASE_URL"], autocommit=True) as connection:
        connection.execute(statement)
