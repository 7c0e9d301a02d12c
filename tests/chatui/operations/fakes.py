"""Second readers that lie, crash, hang or write nonsense. They are real processes, because the process is what must not be trusted."""

import sys
from pathlib import Path

from chatui.operations.second_reader import COMMAND, SecondReader

_WRAPPED = """
import io, json, sys
sys.path.insert(0, {root!r})
from chatui.operations import second_reader
out, sys.stdout = sys.stdout, io.TextIOWrapper(io.BytesIO())
second_reader.serve()
answer = json.loads(sys.stdout.buffer.getvalue())
written, messages = (answer["plain"], answer["like_ours"]), answer["read"]
{lie}
out.write(json.dumps(answer))
"""
LIES = {
    "other ids": '[one.update(ids=[ids and [*ids[:-1], 64, ids[-1]] for ids in one["ids"]]) for one in written]',
    "another channel": '[message.update(channel="final") for message in messages if "role" in message]',
    "another body": '[message.update(text=message["text"] + "!") for message in messages if "role" in message]',
    "one message less": "del messages[-1:]",
    "no reading": 'messages[:] = [{"problem": "unreadable"} for _ in messages]',
    "no writing": '[one.update(ids=[None for _ in one["ids"]]) for one in written]',
}
_WRITES = """one = '{{"ids": {ids}, "whole": []}}'; print('{{"plain": ' + one + ', "like_ours": ' + one + ', "read": {read}}}')"""
NONSENSE = {
    "nothing": "pass",
    "no JSON": "print('SECRET')",
    "another shape": "print('[1]')",
    "another message": _WRITES.format(ids="[[1]]", read='[{"role": 1}]'),
    "ids that are none": _WRITES.format(ids="[[1.5]]", read="[]"),
    "fewer messages": _WRITES.format(ids="[]", read="[]"),
    "bytes": "import sys; sys.stdout.buffer.write(b'\\xff\\xfe\\n')",
    "deep": "print('[' * 100000)",
}


def lying(rank_file: Path, name: str) -> SecondReader:
    """The real second reader with one false value in its output."""
    return _running(rank_file, _WRAPPED.format(root=COMMAND[-1], lie=LIES[name]), 120)


def crashing(rank_file: Path) -> SecondReader:
    """Ends like a Rust panic, with content on standard error."""
    return _running(rank_file, "import sys; sys.stderr.write('panicked: ' + sys.stdin.read()); sys.exit(101)", 120)


def hanging(rank_file: Path, note: Path, seconds: float = 1) -> SecondReader:
    """Never answers; writes its process id to ``note``."""
    return _running(rank_file, f"import os, time; open({str(note)!r}, 'w').write(str(os.getpid())); time.sleep(600)", seconds)


def invalid_reader(rank_file: Path, name: str) -> SecondReader:
    """Exits successfully with invalid output."""
    return _running(rank_file, NONSENSE[name], 120)


def _running(rank_file: Path, program: str, seconds: float) -> SecondReader:
    return SecondReader(lambda: rank_file, seconds, (sys.executable, "-I", "-c", program))
