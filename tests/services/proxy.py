"""A real haproxy before the processes of a deployment, as a team would run it."""

import subprocess
import time
from pathlib import Path

import httpx
import pytest

from tests.support.served import Server, free_port
from tests.tools import fault_programs

CONFIGURATION = """
global
    maxconn 8000
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
    timeout tunnel {idle_seconds}s
    timeout check 10s
    retries 5
    option redispatch 1
    retry-on conn-failure empty-response 503
frontend people
    bind 127.0.0.1:{port}
    http-request disable-l7-retry unless METH_GET
{rules}
    use_backend living unless {{ nbsrv(ready) gt 0 }}
    default_backend ready
backend ready
    balance leastconn
    option httpchk
    http-check send meth GET uri /readyz ver HTTP/1.1 hdr Host 127.0.0.1
    default-server check inter 300ms fall 1 rise 1
{servers}
backend living
    balance leastconn
    option httpchk
    http-check send meth GET uri /healthz ver HTTP/1.1 hdr Host 127.0.0.1
    default-server check inter 300ms fall 2 rise 1
{servers}
"""
"""As in deploy/haproxy.cfg, with other times. A process that accepts no connection is skipped immediately for this request (redispatch) and
soon for all (check). A slow one stays."""


class Proxy:
    """Listens at ``url`` and ``port``, and gives each connection to the process that has the fewest."""

    def __init__(self, directory: Path, servers: list[Server], idle_seconds: int = 3600, rules: str = "") -> None:
        """``idle_seconds``: after how long an idle WebSocket is cut. ``rules``: for requests, in haproxy's words."""
        program = fault_programs.find("haproxy")
        if program is None:
            pytest.skip(fault_programs.why_not("haproxy"))
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        lines = [f"    server number{number} 127.0.0.1:{server.port}" for number, server in enumerate(servers)]
        file = directory / "haproxy.cfg"
        text = CONFIGURATION.format(port=self.port, idle_seconds=idle_seconds, rules=rules, servers="\n".join(lines))
        file.write_text(text, encoding="utf-8")
        self._process = subprocess.Popen([program, "-db", "-q", "-f", str(file)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._wait()

    def _wait(self) -> None:
        for _ in range(600):
            try:
                if httpx.get(f"{self.url}/healthz", trust_env=False).status_code == 200:
                    return
            except httpx.HTTPError:
                assert self._process.poll() is None, "haproxy has ended"
            time.sleep(0.05)
        raise AssertionError("haproxy did not answer")

    def stop(self) -> None:
        """Stop haproxy, which ends all connections through it."""
        self._process.kill()
        self._process.wait()
