"""The first page of the documentation, from the wheel to a backup restored elsewhere and an upgrade, with its own commands."""

import json
import re
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.typing import Origin

from tests.operating.from_docs import block
from tests.operating.test_first_start import until
from tests.support.machine import Machine
from tests.support.served import PASSWORD, free_port
from tests.tools import fault_programs
from tests.tools.test_package import built

pytestmark = [pytest.mark.served, pytest.mark.extended]

PAGE = "docs/index.md"
SERVICE, UPGRADE = "docs/operating/service.md", "docs/operating/upgrade.md"
HOST = "chat.example.org"
ENDS = {"response.completed", "response.failed", "response.incomplete", "chatui:refused"}
NAMES = ["bela", "chloe", "dina", "emil", "farid", "greta", "hugo", "ines", "jonas", "kim"]


class Person:
    """Somebody's browser, at an address of their own, which knows the machine's nginx by its host name."""

    def __init__(self, https: int, number: int) -> None:
        """``https``: the port of nginx."""
        self._https, self._own = https, f"127.0.0.{10 + number}"
        self.client = httpx.Client(
            base_url=f"https://127.0.0.1:{https}",
            headers={"Host": HOST, "Referer": f"https://{HOST}/", "Origin": f"https://{HOST}"},
            transport=httpx.HTTPTransport(verify=False, local_address=self._own),
            timeout=60,
        )

    def __enter__(self) -> "Person":
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()

    def fill(self, path: str, **fields: str) -> httpx.Response:
        """Open a page with a form, and send it."""
        form = self.client.get(path)
        [token, *_] = re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', form.text)
        return self.client.post(path, data={**fields, "csrfmiddlewaretoken": token})

    def create(self, path: str, name: str, **fields: str) -> None:
        """Create their account."""
        answer = self.fill(path, username=name, password1=PASSWORD, password2=PASSWORD, **fields)
        assert (answer.status_code, answer.headers["Location"]) == (302, "/"), answer.text

    async def ask(self, question: str) -> str:
        """The type of the event that ends the answer to this question."""
        anybody = ssl.create_default_context()
        anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
        cookies = "; ".join(f"{name}={value}" for name, value in self.client.cookies.items())
        connecting = connect(
            f"wss://{HOST}/ws/", host="127.0.0.1", port=self._https, local_addr=(self._own, 0), ssl=anybody, proxy=None,
            additional_headers={"Cookie": cookies}, origin=Origin(f"https://{HOST}"), max_size=None,
        )  # fmt: skip
        async with connecting as socket:
            await socket.send(
                json.dumps({"type": "send", "client_id": str(uuid4()), "conversation": None, "text": question, "effort": "low"})
            )
            while True:
                for event in json.loads(await socket.recv()):
                    if event["type"] in ENDS:
                        return str(event["type"])


def listens(port: int) -> bool:
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def nginx(machine: Machine) -> Iterator[int]:
    """nginx with the page's file, and the port of its https."""
    program = fault_programs.find("nginx")
    if program is None:
        pytest.skip(fault_programs.why_not("nginx"))
    certificates = machine.top / "etc" / "letsencrypt" / "live" / HOST
    certificates.mkdir(parents=True)
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={HOST}",
         "-keyout", certificates / "privkey.pem", "-out", certificates / "fullchain.pem"],
        capture_output=True, check=True,
    )  # fmt: skip
    http, https = free_port(), free_port()
    text = block(PAGE, "server {").replace("listen 80;", f"listen 127.0.0.1:{http};").replace("listen 443 ", f"listen 127.0.0.1:{https} ")
    text = text.replace("127.0.0.1:8000", f"127.0.0.1:{machine.port}").replace("/etc/", f"{machine.top}/etc/")
    (machine.top / "etc/nginx/conf.d/chatui.conf").write_text(text, encoding="utf-8")
    whole = machine.top / "etc/nginx/nginx.conf"
    head = f"pid {machine.top}/nginx.pid; error_log {machine.top}/nginx.log; events {{}}\nhttp {{ access_log off;\n"
    whole.write_text(f"{head}include {machine.top}/etc/nginx/conf.d/*.conf; }}\n", encoding="utf-8")
    machine.run(block(PAGE, "nginx -t"), **{"nginx -t": f"{program} -t -q -p {machine.top} -c {whole}"})
    running = subprocess.Popen([program, "-g", "daemon off;", "-p", str(machine.top), "-c", str(whole)], stderr=subprocess.DEVNULL)
    try:
        until(lambda: listens(https))
        yield https
    finally:
        running.terminate()
        running.wait()


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[tuple[Machine, Machine]]:
    """Two machines without anything, which share ``/mnt/elsewhere``."""
    wheel = built(tmp_path)
    both = (Machine(tmp_path / "one", wheel, tmp_path / "elsewhere"), Machine(tmp_path / "other", wheel, tmp_path / "elsewhere"))
    yield both
    for machine in both:
        machine.stop()


def installed(machine: Machine) -> None:
    """What step 3 and the page it names do before the start; the demo answers."""
    machine.run(block(PAGE, "useradd"))
    settings = machine.top / "etc" / "chatui.env"
    assert settings.stat().st_mode & 0o077 == 0 and f"CHATUI_ORIGINS=https://{HOST}\n" in settings.read_text()
    settings.write_text(re.sub(r"(?m)^CHATUI_BACKEND_URL=.*$", "CHATUI_DEMO_TOKENS_PER_SECOND=0", settings.read_text()))
    machine.run(block(SERVICE, "cat > /usr/local/bin/chatui"))


async def test_ten_people_chat_and_the_backup_is_restored_elsewhere(machines: tuple[Machine, Machine], tmp_path: Path) -> None:
    machine, other = machines
    trying = block(PAGE, "python3 -m venv chat")
    assert trying.splitlines()[-1] == "chat/bin/chatui serve"
    machine.run(trying.rpartition("chat/bin/chatui serve")[0] + "chat/bin/chatui check")
    installed(machine)
    code = re.search(r"code for the first one: (\S+)", started(machine))
    assert code
    with nginx(machine) as https, Person(https, 0) as ada:
        ada.create("/setup/", "ada", code=code[1])
        page = ada.fill("/manage/people/invite/", people="\n".join(NAMES), group="", days="7").text
        links = sorted(set(re.findall(rf"https://{HOST}(/invitation/[0-9a-f-]+/[0-9a-f]+/)", page)))
        assert len(links) == len(NAMES)
        for number, (name, link) in enumerate(zip(NAMES, links, strict=True), 1):
            with Person(https, number) as person:
                person.create(link, name)
                assert await person.ask(f"I am {name}.") == "response.completed"

        machine.run(block(PAGE, "chat/bin/chatui backup --new-key"))
        listed = machine.run(block(PAGE, "install -m 644 backup.pub"))
        [backup] = [name for name in listed.splitlines() if name.endswith(".age")]
        machine.run(block(UPGRADE, "for unit in"))
        machine.run(block(PAGE, "systemctl start chatui-daily.service"))
        machine.wait_until_it_serves()
        assert ada.client.get("/manage/people/").status_code == 200, "she is still signed in"

    installed(other)
    (other.top / "etc/chatui.env").write_text((machine.top / "etc/chatui.env").read_text())
    other.run(block(PAGE, "install -d -o chatui -g chatui -m 700 /var"))
    key = (machine.top / "lib" / "secret_key").read_text()
    (other.top / "lib" / "secret_key").write_text(key)
    (tmp_path / "elsewhere" / "backup.key").write_text((machine.top / "home" / "backup.key").read_text())
    printed = other.run(block(PAGE, "chown chatui:"), **{"chatui-20261121-040000.sqlite3.age": backup})
    assert "11 accounts" in printed and (other.top / "lib" / "secret_key").read_text() == key
    other.wait_until_it_serves()
    with nginx(other) as https, Person(https, 1) as bela:
        assert bela.fill("/sign-in/", username="bela", password=PASSWORD).status_code == 302
        assert "I am bela." in bela.client.get("/").text


def started(machine: Machine) -> str:
    """Start the service as the page does. Returns what its last command prints, once the product serves."""
    starting, reading = block(PAGE, "systemctl daemon-reload").split("journalctl")
    machine.run(starting)
    machine.wait_until_it_serves()
    return machine.run(f"journalctl{reading}")
