"""The sandbox's main program: runs each piece of code in one namespace, like an interactive interpreter.

A request is a line of JSON on standard input: ``{"mark": text, "code": text}``, or ``{"interrupt": true}`` for the code that is running.
``{"mark": text, "lay": name, "data": base64, "is_first": bool}`` writes a piece of a file into it instead, and
``{"mark": text, "drop": name}`` deletes one.

The answer is what the code wrote to standard output or standard error, then a null byte, the mark, a null byte, and a line of JSON:
``{"failed": bool, "files": [[name, bytes], …]}`` with the files in the working directory that the code made or changed.

The code shares the process, so it can write such an answer itself: whoever reads it takes nothing in it for more than what code said.
"""

import ast
import base64
import contextlib
import io
import json
import linecache
import os
import queue
import resource
import signal
import sys
import threading
import traceback
import types
import warnings
from typing import Any, NoReturn

MOST_FILES = 20
MOST_ENTRIES = 2000
TRACEBACK_FRAMES = 30
DATA = "/mnt/data"


def main() -> NoReturn:
    """Limit this process for good, then answer one request after the other. The limits are the first argument, see ``launch``."""
    limits = json.loads(sys.argv[1])
    for name, most in limits.items():
        resource.setrlimit(getattr(resource, name), (most, most))
    # A server that a shell has started in the background ignores SIGINT, and so would the code: it could only be killed.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = [""]
    sys.path.insert(0, "")
    answers = os.dup(1)
    requests = os.fdopen(os.dup(0), "rb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests, inbox), daemon=True).start()
    # Of matplotlib, about plt.show(): what it drew becomes a file.
    warnings.filterwarnings("ignore", message=".*non-interactive.*cannot be shown")
    module = types.ModuleType("__main__")
    vars(module)["display"] = _display
    sys.modules["__main__"] = module
    number = -1  # the first request is ours: whether it answers
    while True:
        # An interrupt that came too late belongs to no code.
        with contextlib.suppress(KeyboardInterrupt):
            request = inbox.get()
            if "lay" in request:
                _lay(request, answers)
                continue
            if "drop" in request:
                _drop(request, answers)
                continue
            number += 1
            _answer(request, f"<call {number}>", vars(module), answers)


def _listen(requests: Any, inbox: "queue.SimpleQueue[Any]") -> NoReturn:
    # Where the code has left no memory for a request, half of it is gone. Whoever waits for its answer would wait for nothing.
    with contextlib.suppress(MemoryError):
        for line in requests:
            request = json.loads(line)
            if "interrupt" in request:
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            else:
                inbox.put(request)
    os._exit(0)


def _lay(request: Any, answers: int) -> None:
    path, failed = os.path.join(DATA, request["lay"]), False
    try:
        with open(path, "wb" if request["is_first"] else "ab") as file:
            file.write(base64.b64decode(request["data"]))
    except (OSError, MemoryError):
        failed = True  # half a file would be taken for a whole one
        with contextlib.suppress(OSError):
            os.unlink(path)
    _write(answers, b"\0" + request["mark"].encode() + b"\0" + json.dumps({"failed": failed}).encode() + b"\n")


def _drop(request: Any, answers: int) -> None:
    path = os.path.join(DATA, request["drop"])
    with contextlib.suppress(OSError):
        os.unlink(path)
    _write(answers, b"\0" + request["mark"].encode() + b"\0" + json.dumps({"failed": os.path.lexists(path)}).encode() + b"\n")


def _answer(request: Any, name: str, namespace: dict[str, Any], answers: int) -> None:
    before = _files()
    for standard in (1, 2):
        os.dup2(answers, standard)
    sys.stdout = sys.stderr = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), "utf-8", "backslashreplace", write_through=False)
    failed = _run(request["code"], name, namespace)
    failed = _run_guarded(_keep_figures, namespace) or failed
    with contextlib.suppress(Exception):
        sys.stdout.flush()
    changed = sorted(each for each in _files().items() if before.get(each[0]) != each[1])
    end = {"failed": failed, "files": [[path, size] for path, (size, _) in changed[:MOST_FILES]]}
    _write(answers, b"\0" + request["mark"].encode() + b"\0" + json.dumps(end).encode() + b"\n")


def _run(code: str, name: str, namespace: dict[str, Any]) -> bool:
    """Run the code, and print the value of its last expression. Returns whether it failed."""
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)

    def whole(_: Any) -> None:
        tree = ast.parse(code, name)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, name, "exec"), namespace)  # noqa: S102 - this is the task
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), name, "eval"), namespace)  # noqa: S307 - the same
            if value is not None:
                namespace["_"] = value
                print(repr(value))  # noqa: T201

    return _run_guarded(whole, namespace)


def _run_guarded(task: Any, namespace: dict[str, Any]) -> bool:
    """Whether it failed; then its traceback has been printed, without the frames of this program."""
    try:
        task(namespace)
    except BaseException as error:  # noqa: BLE001 - whatever the code raises is what it says, SystemExit included
        frames = error.__traceback__
        while frames is not None and frames.tb_frame.f_code.co_filename == _answer.__code__.co_filename:
            frames = frames.tb_next
        traceback.print_exception(type(error), error, frames, limit=-TRACEBACK_FRAMES, file=sys.stdout)
        return True
    return False


def _keep_figures(_: Any) -> None:
    """What matplotlib drew has no screen to be shown on: it becomes a file."""
    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    for number in pyplot.get_fignums() if pyplot else ():
        figure = pyplot.figure(number)
        pyplot.close(number)
        _keep_picture(_drawn(figure))


def _display(*values: Any) -> None:
    """What a notebook calls to show something: pictures become files, everything else is printed."""
    for value in values:
        if hasattr(value, "savefig"):
            _keep_picture(_drawn(value))
        elif isinstance(data := getattr(value, "_repr_png_", lambda: None)(), bytes):
            _keep_picture(data)
        else:
            print(value if isinstance(value, str) else repr(value))  # noqa: T201


def _drawn(figure: Any) -> bytes:
    data = io.BytesIO()
    figure.savefig(data, format="png")
    return data.getvalue()


def _keep_picture(data: bytes) -> None:
    """Under a name of its own, unless the code has kept the same picture itself: models save a figure and then show it."""
    taken = set(os.listdir(DATA))
    for name in taken:
        path = os.path.join(DATA, name)
        with contextlib.suppress(OSError):
            if os.path.isfile(path) and os.path.getsize(path) == len(data):
                with open(path, "rb") as file:
                    if file.read() == data:
                        return
    name = next(name for index in range(1, MOST_ENTRIES) if (name := f"figure_{index}.png") not in taken)
    with open(os.path.join(DATA, name), "wb") as file:
        file.write(data)


def _files() -> dict[str, tuple[int, int]]:
    """Size and time of each plain file in the working directory and the directories in it."""
    found: dict[str, tuple[int, int]] = {}
    with contextlib.suppress(OSError):
        for directory, _, names in os.walk(DATA):
            for name in names:
                path = os.path.join(directory, name)
                with contextlib.suppress(OSError):
                    about = os.lstat(path)
                    if about.st_mode & 0o170000 == 0o100000:
                        found[os.path.relpath(path, DATA)] = (about.st_size, about.st_mtime_ns)
            if len(found) > MOST_ENTRIES:
                break
    return found


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


if __name__ == "__main__":
    main()
