"""The static files: minified and bundled, collected only if they have changed, and stored under names that browsers can cache forever.

Our own scripts and style sheets are minified: comments, indentation and empty lines are removed, and private names shortened. These are
regular expressions for the format of this repository's code, not parsers. Tests read each file before and after: scripts with TypeScript's
scanner, which must find the same tokens except for private names, and sheets with Chromium, which must find the same rules.

ES modules are bundled into a few files, so that a page loads with few requests and few bytes. Each file contains the modules that exactly
the same entries need (code splitting): nothing is loaded that is not needed, and each module runs once, after those that it imports. A
module becomes a function that returns its exports. This is equivalent as long as there are no circular imports, no export changes its
value, and no module uses top-level await; such scripts are refused. Modules that several entries need run before those of one entry, so
code that runs while a module is loaded may rely only on the module's own imports.

Collecting happens only after a change, because compressing the files takes many seconds, and each start would wait for it. In a bundle of
style sheets, each import is replaced with the imported sheet, and comments and unnecessary white space are removed. Names of stored files
contain a hash of their content.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from itertools import count, product
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.files.base import ContentFile
from django.core.management import call_command
from servestatic.storage import CompressedManifestStaticFilesStorage


def script(text: str) -> str:
    """A script without comments on their own lines and without type comments in expressions, with less white space and with short private
    names.
    """
    lines = _SPACE.sub("\n", _with_short_private_names(_TYPE.sub("", without_comments(text)))).lstrip().split("\n")
    # A template literal of several lines has lines that look like code.
    if any(line.count("`") % 2 for line in lines):
        return "\n".join(lines)
    return "".join(_without_spaces(line) + ("" if _joins_next(line) else "\n") for line in lines[:-1]) + _without_spaces(lines[-1])


def without_comments(text: str) -> str:
    """A script without comments on their own lines."""
    return _BLOCK.sub("", _LINE.sub("", text))


def unsafe_line(text: str) -> str:
    """The first line of a script whose meaning minifying would change; empty if there is none. Has false positives."""
    for line in without_comments(text).splitlines():
        types = [line[: found.start()] for found in _TYPE.finditer(line)]
        is_open = [line.count("`") % 2, line.endswith("\\"), *(before.count(mark) % 2 for before in types for mark in "\"'`")]
        if any(is_open):
            return line.strip()
    return ""


def sheet(text: str) -> str:
    """A style sheet without comments, without white space around braces, semicolons, commas and ``>`` and after the colon of a property,
    and without the last semicolon of a rule."""
    pieces = _STRING.split(_SPACE.sub("\n", _COMMENT.sub("", text)).lstrip())
    pieces[::2] = [_AFTER_NAME.sub(":", _BETWEEN_RULES.sub(r"\1", piece)).replace(";}", "}") for piece in pieces[::2]]
    return "".join(pieces)


def _with_short_private_names(text: str) -> str:
    """Shorten the private names of a script, the most frequent ones most: nothing outside of a class uses them."""
    declared = {found[1] for found in _DECLARED.finditer(text)}
    counts = Counter(name for name in _PRIVATE.findall(text) if name in declared)
    short = {name: letters for (name, _), letters in zip(counts.most_common(), _short_names(), strict=False)}
    return _PRIVATE.sub(lambda found: f"#{short.get(found[1], found[1])}", text)


def _short_names() -> Iterator[str]:
    for length in count(1):
        yield from map("".join, product(ascii_lowercase, repeat=length))


def _without_spaces(line: str) -> str:
    """A line of a script without spaces around operators and punctuation. Lines that may have more than code and strings are unchanged."""
    pieces = _STRING.split(line)
    # Other literals and comments begin with one of these marks outside of a string.
    if any(mark in piece for piece in pieces[::2] for mark in "`'/"):
        return line
    pieces[::2] = [_AROUND.sub(r"\1", piece) for piece in pieces[::2]]
    return "".join(pieces)


def _joins_next(line: str) -> bool:
    """Whether the line break after a line of a script can be removed: it ends neither a comment nor a statement without a semicolon."""
    return line.endswith(("{", "(", "[", ",", ";")) and "//" not in line


_LINE = re.compile(r"^[ \t]*//.*\n", re.MULTILINE)
_BLOCK = re.compile(r"^[ \t]*/\*(?:[^*]|\*(?!/))*\*/[ \t]*\n", re.MULTILINE)
_TYPE = re.compile(r"/\*\* @[^*`]*\*/ ?")
_DECLARED = re.compile(r"^[ \t]+(?:static |async |get |set )*#(\w+)", re.MULTILINE)
_PRIVATE = re.compile(r"(?<![^\s.])#(\w+)")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_SPACE = re.compile(r"\n\s*")
_STRING = re.compile(r'("(?:[^"\\\n]|\\.)*")')
_AROUND = re.compile(r" ?([{}()\[\],:;?]|=>|===?|!==?|&&|\|\||=|[<>]=?) ?")
_BETWEEN_RULES = re.compile(r"\s*([{};,>])\s*")
_AFTER_NAME = re.compile(r"(?<=[\w-]): ")


FOLDER = "js/joined"


class BundleError(ValueError):
    """A script cannot be bundled. The message names it."""


@dataclass(frozen=True, slots=True)
class Module:
    """A parsed script. ``body``: without comments, imports and the word ``export``. ``imports``: each imported module with the imported
    names, in order; ``dynamic``: the modules that it loads with ``import()``."""

    name: str
    body: str = field(repr=False)
    imports: tuple[tuple[str, str], ...]
    dynamic: tuple[str, ...]
    exports: tuple[str, ...]


def scripts_in(templates: str) -> set[str]:
    """The scripts that these templates load."""
    return set(re.findall(r"""{% static ['"](js/[^'"]+\.js)['"] %}""", templates))


def bundle_scripts(sources: Mapping[str, str], named: Iterable[str]) -> dict[str, str]:
    """The files that browsers load, by name. ``sources``: all scripts, by name; ``named``: those that pages load.

    Raises:
        BundleError: a script has an unsupported import or export, or there are circular imports.
    """
    modules = {name: _read(name, text) for name, text in sorted(sources.items())}
    _check_targets(modules)
    imported = {target for module in modules.values() for target, _ in module.imports}
    entries = sorted((set(modules) - imported) | set(named) | {target for module in modules.values() for target in module.dynamic})
    needs = {entry: _in_order(entry, modules) for entry in entries if entry in modules}
    if lost := set(modules) - {name for needed in needs.values() for name in needed}:
        raise BundleError(f"{min(lost)}: in a cycle of imports that nothing loads")
    return _Files(modules, needs).texts()


class _Places:
    """Computes which modules share a file: those with the same place.

    A file's name contains the hash of its content, and its content contains the names of the files that it loads, at once or dynamically.
    So no file may dynamically load a file that needs it.
    """

    def __init__(self, modules: Mapping[str, Module], needs: Mapping[str, list[str]]) -> None:
        self._modules, self._needs = modules, needs
        self._later = {target for module in modules.values() for target in module.dynamic}
        self._steps: dict[str, int] = {}

    def of(self, name: str) -> tuple[frozenset[str], int]:
        """The place of a module: the entries that need it, and a step. If pages need it from the start, only these pages count, because
        modules that they load dynamically find it there. If dynamically loaded modules need it as well, the step is the longest chain of
        dynamic imports from it.
        """
        users = frozenset(entry for entry in self._needs if name in self._needs[entry])
        pages = users - self._later
        return (pages or users), (self._step(name, ()) if pages and users & self._later else _NOTHING_LATER)

    def entry(self, place: tuple[frozenset[str], int]) -> str:
        """The entry whose own file this is; empty if several entries share the file."""
        users, step = place
        return min(users) if len(users) == 1 and step == _NOTHING_LATER else ""

    def _step(self, name: str, path: tuple[str, ...]) -> int:
        if name in path:
            raise BundleError(f"{name}: dynamically loads a module that needs it")
        if name not in self._steps:
            module, path = self._modules[name], (*path, name)
            later = [1 + self._step(target, path) for target in module.dynamic]
            self._steps[name] = max([0, *later, *(self._step(target, path) for target, _ in module.imports)])
        return self._steps[name]


class _Files:
    """Assigns modules to files, and writes the files. ``needs``: for each entry, its modules in the order in which they run."""

    def __init__(self, modules: dict[str, Module], needs: dict[str, list[str]]) -> None:
        self._modules, self._needs = modules, needs
        self._variables = {name: f"${number}" for number, name in enumerate(modules)}
        places = _Places(modules, needs)
        groups: dict[tuple[frozenset[str], int], list[str]] = {}
        for entry in needs:
            for name in needs[entry]:
                group = groups.setdefault(places.of(name), [])
                group.extend([name] if name not in group else [])
        shared = iter(range(1, len(groups) + 1))
        self._files = {places.entry(place) or f"{FOLDER}/{next(shared)}.js": group for place, group in groups.items()}
        self._file_of = {name: file for file, group in self._files.items() for name in group}

    def texts(self) -> dict[str, str]:
        shared = {file: self._shared(file, group) for file, group in self._files.items() if file not in self._needs}
        return shared | {entry: self._entry(entry) for entry in self._needs}

    def _shared(self, file: str, group: list[str]) -> str:
        return f"{self._text(file, group, ())}\nexport{{{','.join(self._variables[name] for name in group)}}};"

    def _entry(self, entry: str) -> str:
        module = self._modules[entry]
        names = ",".join(module.exports)
        if self._files.get(entry) == self._needs[entry] == [entry]:
            return module.body + (f"\nexport{{{names}}};" if names else "")
        own = self._files.get(entry, [])
        text = self._text(entry, own, [*self._needs[entry], entry])
        return text + (f"\nexport const{{{names}}}={self._variables[entry]};" if names else "")

    def _text(self, file: str, group: list[str], asked: Iterable[str]) -> str:
        """The text of a file with the modules of ``group``. ``asked``: modules whose files are imported at the top even if ``group`` does
        not need them, so that a browser requests all files in one step."""
        wanted: dict[str, set[str]] = {self._file_of[name]: set() for name in asked}
        for target in [*(target for name in group for target, _ in self._modules[name].imports), *({file} & set(self._file_of))]:
            wanted.setdefault(self._file_of[target], set()).add(self._variables[target])
        wanted.pop(file, None)
        heads = [f'import{_braced(names)}"{_relative(file, other)}";' for other, names in wanted.items()]
        return "\n".join([*heads, *(self._function(self._modules[name], file) for name in group)])

    def _function(self, module: Module, file: str) -> str:
        wanted = "".join(f"const{{{names}}}={self._variables[target]};" for target, names in module.imports if names)
        returned = f"return{{{','.join(module.exports)}}}" if module.exports else ""
        return f"const {self._variables[module.name]}=(()=>{{{wanted}{self._with_relative_imports(module, file).rstrip()}\n{returned}}})();"

    def _with_relative_imports(self, module: Module, file: str) -> str:
        """The body, with the paths of dynamic imports relative to this file."""
        return _DYNAMIC.sub(lambda found: f'import("{_relative(file, _resolved(module.name, found["path"]))}")', module.body)


def _read(name: str, text: str) -> Module:
    body = script(text)
    imports = []
    while found := _SCRIPT_IMPORT.match(body):
        wanted = re.sub(r"\s+as\s+", ":", (found["names"] or "").strip().strip(","))
        imports.append((_resolved(name, found["path"]), wanted))
        body = body[found.end() :]
    exports = _EXPORT.findall(text)
    for each in exports:
        body, count = re.subn(rf"\bexport ((?:async )?(?:function|class|const) {each}\b)", r"\1", body)
        if count != 1:
            raise BundleError(f"{name}: the export of {each} is not supported")
    counts = (len(re.findall(rf"^{word}\b(?!\()", text, re.MULTILINE)) for word in ("import", "export"))
    if [len(imports), len(exports)] != [*counts]:
        raise BundleError(f"{name}: only imports of names at the beginning, and exports of functions, classes and constants, are supported")
    if "import.meta" in body or len(re.findall(r"\bimport\b", body)) != len(_DYNAMIC.findall(body)):
        raise BundleError(f"{name}: import.meta, and import() of anything but one path in double quotation marks, are not supported")
    _check_statements(name, text)
    return Module(name, body, tuple(imports), tuple(_dynamic_targets(name, body)), tuple(exports))


def _check_statements(name: str, text: str) -> None:
    """Refuse unsupported statements. Relies on the format of our scripts: each top-level statement starts at the beginning of a line, and
    its other lines are indented or start with a closing bracket."""
    if line := unsafe_line(text):
        raise BundleError(f"{name}: a string of several lines, or a type comment in a string, is not supported: {line}")
    for statement in re.split(r"\n(?![\s)}\]])", without_comments(text)):
        if re.search(r"\bawait\b", statement.partition("async")[0]):
            raise BundleError(f"{name}: top-level await is not supported")
        if statement.startswith("export const ") and "," in _without_nested(statement).partition(";")[0]:
            raise BundleError(f"{name}: the export of several constants at once is not supported")


def _without_nested(statement: str) -> str:
    """A statement without its strings, its comments, and everything in brackets."""
    before, rest = "", _TEXT.sub("", statement)
    while before != rest:
        before, rest = rest, _BRACKETS.sub("", rest)
    return rest


def _check_targets(modules: Mapping[str, Module]) -> None:
    for name, module in modules.items():
        for target, names in module.imports:
            wanted = {each.partition(":")[0].strip() for each in names.split(",")} - {""}
            if target in modules and (missing := wanted - {*modules[target].exports}):
                raise BundleError(f"{name}: imports {min(missing)}, which {target} does not export")
        if missing := {*module.dynamic} - {*modules}:
            raise BundleError(f"{name}: loads {min(missing)}, which does not exist")


def _dynamic_targets(name: str, body: str) -> list[str]:
    targets = [_resolved(name, found["path"]) for found in _DYNAMIC.finditer(body)]
    return [target for target in targets if target.startswith("js/")]


def _in_order(entry: str, modules: Mapping[str, Module]) -> list[str]:
    """The entry's modules, each after those that it imports."""
    found: dict[str, None] = {}

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            raise BundleError(f"{name}: in a cycle of imports")
        if name not in modules:
            raise BundleError(f"{path[-1]}: imports {name}, which does not exist")
        if name not in found:
            for target, _ in modules[name].imports:
                visit(target, (*path, name))
            found[name] = None

    visit(entry, ())
    return list(found)


def _braced(names: Iterable[str]) -> str:
    return f"{{{','.join(sorted(names))}}}from" if names else ""


def _resolved(name: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), path))


def _relative(file: str, target: str) -> str:
    path = posixpath.relpath(target, posixpath.dirname(file))
    return path if path.startswith(".") else f"./{path}"


_NOTHING_LATER = -1
_SCRIPT_IMPORT = re.compile(r"""\s*import\s*(?:\{(?P<names>[^}]*)\}\s*from\s*)?"(?P<path>\.[^"]+)";""")
_EXPORT = re.compile(r"^export (?:async )?(?:function|class|const) (\w+)(?![\w$])", re.MULTILINE)
_TEXT = re.compile(r""""(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\\n]|\\.)*`|/\*.*?\*/|//.*""")
_BRACKETS = re.compile(r"\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}")
_DYNAMIC = re.compile(r"""\bimport\("(?P<path>\.[^"]+)"\)""")


_PACKAGES = ("django", "servestatic", "brotli")
"""The packages that, besides this one, affect the content of served files."""


def collect_changed() -> bool:
    """Collect all files if one of them, or the code that builds them, has changed. Returns whether it was necessary."""
    fingerprint, manifest = _fingerprint_file(), Path(settings.STATIC_ROOT) / "staticfiles.json"
    if manifest.is_file() and fingerprint.is_file() and fingerprint.read_text(encoding="utf-8") == _fingerprint():
        return False
    call_command("collectstatic", interactive=False, verbosity=0)
    return True


def mark_incomplete() -> None:
    """Mark the files as not collected, before the first of them is written."""
    _fingerprint_file().unlink(missing_ok=True)


def mark_complete() -> None:
    """Mark the files as collected, after the last of them was written."""
    _fingerprint_file().write_text(_fingerprint(), encoding="utf-8")


def scripts_in_templates() -> set[str]:
    """The names of the scripts that templates load."""
    places: list[Path] = [Path(str(place)) for engine in settings.TEMPLATES for place in engine["DIRS"]]
    pages = [page for place in places for page in place.rglob("*.html")]
    return scripts_in("\n".join(page.read_text(encoding="utf-8") for page in pages))


def _fingerprint_file() -> Path:
    """The file with the fingerprint. It is next to the directory, because everything in the directory is served."""
    root = Path(settings.STATIC_ROOT)
    return root.with_name(f"{root.name}.collected")


def _fingerprint() -> str:
    parts = [*map(_version, _PACKAGES), *sorted(scripts_in_templates())]
    parts += [path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parent.glob("*.py"))]
    digest = sha256("\0".join(parts).encode())
    for finder in get_finders():
        for name, storage in finder.list(["CVS", ".*", "*~"]):
            with storage.open(name) as file:
                digest.update(f"\0{name}\0".encode() + sha256(file.read()).digest())
    return digest.hexdigest()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def bundle_sheets(sources: Mapping[str, str]) -> dict[str, str]:
    """The sheets that browsers load, by name. A sheet that others import can also be loaded on its own."""
    return {name: sheet(_whole(name, sources)) for name in sources}


def _whole(name: str, sources: Mapping[str, str]) -> str:
    folder = posixpath.dirname(name)
    return _SHEET_IMPORT.sub(lambda found: _whole(posixpath.normpath(posixpath.join(folder, found["path"])), sources), sources[name])


_SHEET_IMPORT = re.compile(r"""^@import "(?P<path>[^"]+)";\n""", re.MULTILINE)


OURS = ("js/", "css/")
"""The folders of our own code, which is bundled. Code of others, in ``vendor/`` and in packages, is served as it was published."""


class HashedStaticStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Bundles our own scripts and style sheets when files are collected. In debug mode, browsers load the source files.

    It also rewrites ES module imports, ``import … from "./x.js";``. Only imports that end in a semicolon are found.
    """

    support_js_module_import_aggregation = True
    _replaces = False

    def post_process(self, paths: dict[str, Any], dry_run: bool = False, **options: Any) -> Iterator[Any]:
        """Called by Django when all files are copied. ``paths``: for each name, the storage and path of its source."""
        if dry_run:
            return
        mark_incomplete()
        self._replaces = True
        self._bundle(paths)
        yield from super().post_process(paths, **options)
        self._replaces = False
        mark_complete()

    def delete(self, name: str) -> None:
        """Nothing while files are processed: each is replaced in one step, because another process may be serving it."""
        if not self._replaces:
            super().delete(name)

    def _save(self, name: str, content: Any) -> str:
        """Called by Django to write a file."""
        if not self._replaces:
            return str(super()._save(name, content))
        path = Path(self.path(name))
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f".{path.name}.new")
        with new.open("wb") as file:
            file.writelines(content.chunks())
        new.replace(path)
        return name

    def _bundle(self, paths: dict[str, Any]) -> None:
        """Replace the source files of bundles by the bundles."""
        sources = {name: _text(*place) for name, place in paths.items() if name.startswith(OURS) and name.endswith((".js", ".css"))}
        scripts = {name: text for name, text in sources.items() if name.endswith(".js")}
        sheets = {name: text for name, text in sources.items() if name.endswith(".css")}
        for name in sources:
            del paths[name]
        for name, text in (bundle_scripts(scripts, scripts_in_templates()) | bundle_sheets(sheets)).items():
            self.delete(name)
            self._save(name, ContentFile(text.encode()))
            paths[name] = (self, name)


def _text(storage: Any, path: str) -> str:
    with storage.open(path) as file:
        text: str = file.read().decode("utf-8")
    return text
