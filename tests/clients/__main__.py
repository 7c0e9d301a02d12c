"""Runs every client library against the API: ``python -m tests.clients``. With ``--record`` its requests are stored for tests to replay."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.chatui.api.deployed import key_at
from tests.clients import installing
from tests.clients.recording import Recorder, shortened
from tests.support.served import Deployment

RECORDED = Path(__file__).parent / "recorded"
SECONDS = 180
REPLIED = "replied: "
"""Part of the demo's answer once a function has replied."""


def main() -> int:
    """Run every client; 0 if all got their answers."""
    installing.install()
    with tempfile.TemporaryDirectory(prefix="chatui-clients-") as scratch:
        place, home = Path(scratch, "data"), Path(scratch, "home")
        place.mkdir()
        home.mkdir()
        deployment = Deployment(place, CHATUI_DEMO_TOKENS_PER_SECOND="0")
        try:
            server = deployment.start()
            deployment.make_people(ada=(False, []))
            failed = _run_all(Recorder(server.url), key_at(place), home)
        finally:
            deployment.stop()
    print(f"Failed: {', '.join(failed)}." if failed else "Every client got its answers.")
    return 1 if failed else 0


def _run_all(recorder: Recorder, key: str, home: Path) -> list[str]:
    failed = []
    for name, commands in installing.commands(recorder.url, key, home).items():
        ended = [
            subprocess.run(
                command,
                cwd=home,
                env=installing.environment(recorder.url, key, home),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=False,
            )
            for command in commands
        ]
        output, sent = "".join(each.stdout for each in ended), recorder.take()
        is_good = all(each.returncode == 0 for each in ended) and REPLIED in output and all(each["status"] == 200 for each in sent)
        print(f"{'good  ' if is_good else 'FAILED'} {name}: {len(sent)} requests")
        if not is_good:
            failed.append(name)
            print(output[-2000:], *(each.stderr[-2000:] for each in ended), sep="\n")
        elif "--record" in sys.argv:
            RECORDED.mkdir(exist_ok=True)
            lines = [json.dumps(each, ensure_ascii=False) for each in shortened(sent, str(home))]
            (RECORDED / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    recorder.close()
    return failed


if __name__ == "__main__":
    sys.exit(main())
