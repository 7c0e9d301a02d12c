"""The sandbox's main program: runs each piece of code in one namespace, like an interactive interpreter.

A request is a line of JSON on standard input. ``{"mark": text, "code": text}`` runs code, and ``{"interrupt": true}`` interrupts it: as
soon as it has begun, and not after its end.
``{"mark": text, "write": name, "data": base64, "is_first": bool}`` writes a piece of a file to the working directory, and
``{"mark": text, "delete": name}`` deletes a file.

The answer is the code's output and standard error, then a null byte, the mark, a null byte, and a line of JSON:
``{"failed": bool, "files": [[name, bytes], …]}`` with the files in the working directory that the code created or changed.

The code runs in the same process, so it can write such an answer itself: the reader must not trust it.
"""

import ast
import base64
import contextlib
import functools
import importlib.machinery
import io
import json
import linecache
import os
import queue
import resource
import signal
import sys
import threading
import time
import tokenize  # noqa: F401 - linecache would import it to print a traceback, when no file can be opened any more
import traceback
import types
import warnings
from typing import Any, NoReturn

MAX_FILES = 20
MAX_ENTRIES = 2000
TRACEBACK_FRAMES = 30
DATA = "/mnt/data"


def main() -> NoReturn:
    """Set permanent limits for this process, then answer one request after the other. The first argument has the limits, see ``launch``."""
    limits = json.loads(sys.argv[1])
    for name, most in limits.items():
        resource.setrlimit(getattr(resource, name), (most, most))
    # A server that a shell starts in the background ignores SIGINT. The code would inherit that, and could not be interrupted, only killed.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = [""]
    sys.path.insert(0, "")
    answers = os.dup(1)
    requests = os.fdopen(os.dup(0), "rb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests, inbox), daemon=True).start()
    # Matplotlib's warning about fig.show() does not apply: figures become files.
    warnings.filterwarnings("ignore", message=".*non-interactive.*cannot be shown")
    sys.meta_path.insert(0, _Changed)
    module = types.ModuleType("__main__")
    vars(module)["display"] = _display
    sys.modules["__main__"] = module
    number = -1  # the first request is the product's own, to see whether the interpreter answers
    while True:
        with contextlib.suppress(KeyboardInterrupt):  # of a thread that the code left running
            request = inbox.get()
            if "write" in request or "delete" in request:
                end = {"failed": _has_failed(request)}
            else:
                number += 1
                end = _answer(request["code"], f"<call {number}>", vars(module), answers)
            _now.is_asked = False
            _write(answers, b"\0" + request["mark"].encode() + b"\0" + json.dumps(end).encode() + b"\n")


def _listen(requests: Any, inbox: "queue.SimpleQueue[Any]") -> NoReturn:
    # If the code has left no memory for a request, part of the request is lost, and nobody would answer it: end the process.
    with contextlib.suppress(MemoryError):
        for line in requests:
            request = json.loads(line)
            if "interrupt" in request:
                _interrupt()
            else:
                _now.is_asked = True
                inbox.put(request)
    os._exit(0)


class _Now:
    """What the main thread does."""

    is_asked = False
    """It has a request that is not answered."""
    runs_code = False
    """An exception at this point is the result of the code."""


_now = _Now()


def _interrupt() -> None:
    """Elsewhere an interrupt would lose the request or its answer: on a busy machine, it may come before the code has begun."""
    while _now.is_asked and not _now.runs_code:
        time.sleep(0.01)
    if _now.runs_code:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def _has_failed(request: Any) -> bool:
    """Write a piece of a file, or delete a file. Returns whether that failed."""
    path = os.path.join(DATA, request.get("write") or request["delete"])
    if "write" in request:
        with contextlib.suppress(OSError, MemoryError), open(path, "wb" if request["is_first"] else "ab") as file:
            file.write(base64.b64decode(request["data"]))
            return False
    # Also after a failed write: a part of a file would look like the whole.
    with contextlib.suppress(OSError):
        os.unlink(path)
    return "write" in request or os.path.lexists(path)


def _answer(code: str, name: str, namespace: dict[str, Any], answers: int) -> dict[str, Any]:
    """Run code. Returns the end of its answer."""
    before = _files()
    for standard in (1, 2):
        os.dup2(answers, standard)
    sys.stdout = sys.stderr = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), "utf-8", "backslashreplace", write_through=False)
    failed = _run(code, name, namespace)
    failed = _run_guarded(_save_figures, namespace) or failed
    with contextlib.suppress(Exception):
        sys.stdout.flush()
    changed = sorted(each for each in _files().items() if before.get(each[0]) != each[1])
    return {"failed": failed, "files": [[path, size] for path, (size, _) in changed[:MAX_FILES]]}


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
                _keep_picture(value)

    return _run_guarded(whole, namespace)


def _run_guarded(task: Any, namespace: dict[str, Any]) -> bool:
    """Run a task. Returns whether it failed. If so, its traceback is printed, without the frames of this program."""
    try:
        try:
            _now.runs_code = True
            task(namespace)
        finally:
            _now.runs_code = False
    except BaseException as error:  # noqa: BLE001 - any exception is the code's result, even SystemExit
        frames = error.__traceback__
        while frames is not None and frames.tb_frame.f_code.co_filename == _answer.__code__.co_filename:
            frames = frames.tb_next
        try:
            traceback.print_exception(type(error), error, frames, limit=-TRACEBACK_FRAMES, file=sys.stdout)
        except Exception:  # noqa: BLE001 - the code may have left no memory or files for it
            print(f"{type(error).__name__}: {error}")  # noqa: T201
        return True
    return False


class _Changed:
    """A finder of modules that changes some of them after their import, so that what shows pictures on a screen keeps them as files."""

    @classmethod
    def find_spec(cls, name: str, path: Any = None, _: Any = None) -> Any:
        """The module's own specification, which runs our function for it as well."""
        change = _CHANGES.get(name)
        spec: Any = importlib.machinery.PathFinder.find_spec(name, path) if change else None
        if change is None or spec is None:
            return None
        execute = spec.loader.exec_module

        def executed(module: Any) -> None:
            execute(module)
            change(module)

        spec.loader.exec_module = executed
        return spec


def _change_pyplot(pyplot: Any) -> None:
    """Make ``show`` show all open figures and close them, as in notebooks, so that the next plot begins with an empty one."""
    pyplot.show = lambda *_, **__: _save_figures(None)
    # The first font has neither Chinese nor Korean characters. Matplotlib takes those that one font lacks from the next in the list.
    from matplotlib.font_manager import fontManager

    installed = {font.name for font in fontManager.ttflist}
    pyplot.rcParams["font.family"] = ["sans-serif", *(name for name in _WIDE_FONTS if name in installed)]


def _change_figure(module: Any) -> None:
    """Note which figures the code saves: models often save a figure and then show it, in other sizes, and one picture is enough."""
    save = module.Figure.savefig

    @functools.wraps(save)
    def savefig(self: Any, fname: Any, *arguments: Any, **options: Any) -> None:
        save(self, fname, *arguments, **options)
        if isinstance(fname, str | os.PathLike):
            self._is_saved = os.path.abspath(os.fspath(fname)).startswith(DATA)

    module.Figure.savefig = savefig


def _change_pillow(module: Any) -> None:
    module.Image.show = lambda self, *_, **__: _display(self)


_CHANGES = {"matplotlib.figure": _change_figure, "matplotlib.pyplot": _change_pyplot, "PIL.Image": _change_pillow}
_WIDE_FONTS = (
    *("Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans SC", "WenQuanYi Zen Hei", "WenQuanYi Micro Hei", "Droid Sans Fallback"),
    *("Noto Sans KR", "NanumGothic", "UnDotum"),
)


def _save_figures(_: Any) -> None:
    """Save matplotlib's open figures as files, because there is no screen, and close them."""
    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    for number in pyplot.get_fignums() if pyplot else ():
        figure = pyplot.figure(number)
        pyplot.close(number)
        if not getattr(figure, "_is_saved", False):
            _keep_picture(figure)


def _display(*values: Any) -> None:
    """The function ``display`` of notebooks: pictures are saved as files, everything else is printed."""
    for value in values:
        if not _keep_picture(value):
            print(value if isinstance(value, str) else repr(value))  # noqa: T201


def _keep_picture(value: Any) -> bool:
    """Save a figure or a picture as a file. Returns whether it is one."""
    data = None
    # Looked up at the type, as Python does with special methods: a mock has every attribute.
    if hasattr(type(value), "savefig"):
        data = _drawn(value)
    elif draw := getattr(type(value), "_repr_png_", None):
        data = draw(value)
    if isinstance(data, bytes):
        _save_picture(data)
    return isinstance(data, bytes)


def _drawn(figure: Any) -> bytes:
    data = io.BytesIO()
    figure.savefig(data, format="png")
    return data.getvalue()


def _save_picture(data: bytes) -> None:
    """Save a picture under a new name, unless the code has saved the same picture: models often save a figure and then show it."""
    taken = set(os.listdir(DATA))
    for name in taken:
        path = os.path.join(DATA, name)
        with contextlib.suppress(OSError):
            if os.path.isfile(path) and os.path.getsize(path) == len(data):
                with open(path, "rb") as file:
                    if file.read() == data:
                        return
    name = next(name for index in range(1, MAX_ENTRIES) if (name := f"figure_{index}.png") not in taken)
    with open(os.path.join(DATA, name), "wb") as file:
        file.write(data)


def _files() -> dict[str, tuple[int, int]]:
    """The size and modification time of each regular file in and below the working directory."""
    found: dict[str, tuple[int, int]] = {}
    with contextlib.suppress(OSError):
        for directory, _, names in os.walk(DATA):
            for name in names:
                path = os.path.join(directory, name)
                with contextlib.suppress(OSError):
                    about = os.lstat(path)
                    if about.st_mode & 0o170000 == 0o100000:
                        found[os.path.relpath(path, DATA)] = (about.st_size, about.st_mtime_ns)
            if len(found) > MAX_ENTRIES:
                break
    return found


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


if __name__ == "__main__":
    main()
