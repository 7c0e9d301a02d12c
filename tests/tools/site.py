"""Builds the site of the documentation: ``make docs``. It needs no other host, neither to be built nor to be read.

The pages are written for the repository, where links lead from ``docs`` to files above it. They are copied to one folder, with the pages of
the repository's root, and their links follow; a link to a file that is no page of the site becomes its words.
"""

import posixpath
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tests.support.places import ROOT

SETTINGS = ROOT / "zensical.toml"
OUTSIDE = {
    "SECURITY.md": "SECURITY.md",
    "ARCHITECTURE.md": "ARCHITECTURE.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "renderer/README.md": "renderer.md",
    "static/icons/favicon.svg": "images/mark.svg",
}
"""Files outside of ``docs`` that the site has, and their names there."""
_LINK = re.compile(r"(?P<code>^```.*?^```$|`[^`\n]+`)|\[(?P<words>[^][]*)\]\((?P<address>[^)\s#:]+)(?P<anchor>#[^)\s]*)?\)", re.M | re.S)
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def files() -> dict[str, str]:
    """The files of the site: paths in the repository, and the names there."""
    docs = (path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").rglob("*")) if path.is_file())
    return {path: path.removeprefix("docs/") for path in docs} | OUTSIDE


def navigated() -> list[str]:
    """The pages in the navigation, in order."""

    def pages(entries: list[object]) -> Iterator[str]:
        for entry in entries:
            if isinstance(entry, str):
                yield entry
            elif isinstance(entry, dict):
                for below in entry.values():
                    yield from pages(below if isinstance(below, list) else [below])

    return list(pages(tomllib.loads(SETTINGS.read_text(encoding="utf-8"))["project"]["nav"]))


def relinked(text: str, path: str) -> str:
    """The text of a page, a file of the repository, with links as the site needs them; code stays as it is.

    Raises ``FileNotFoundError`` for a link to what the repository does not have.
    """
    names = files()
    here = posixpath.dirname(names.get(path, path))

    def link(found: re.Match[str]) -> str:
        if found["code"]:
            return found[0]
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), found["address"]))
        if target in names:
            words = _title(target) if found["words"].endswith(".md") else found["words"]
            return f"[{words}]({posixpath.relpath(names[target], here or '.')}{found['anchor'] or ''})"
        if not (ROOT / target).exists():
            raise FileNotFoundError(f"{path} has a link to {found['address']}")
        return found["words"]

    return _LINK.sub(link, text)


def _title(path: str) -> str:
    """What a page calls itself, which the site says where the repository names the file."""
    return (ROOT / path).read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def put_together(target: Path) -> None:
    """Write the pages and the files that they need into the folder, in place of what it had."""
    shutil.rmtree(target, ignore_errors=True)
    for path, name in files().items():
        file = target / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if path.endswith(".md"):
            file.write_text(relinked((ROOT / path).read_text(encoding="utf-8"), path), encoding="utf-8")
        else:
            shutil.copyfile(ROOT / path, file)


def build(work: Path) -> "subprocess.CompletedProcess[str]":
    """Build the site in the folder ``site`` below ``work``. A broken link is a failure, which the output shows."""
    put_together(work / "pages")
    file = work / SETTINGS.name
    places = '[project]\ndocs_dir = "pages"\nsite_dir = "site"\n'
    file.write_text(SETTINGS.read_text(encoding="utf-8").replace("[project]\n", places, 1), encoding="utf-8")
    command = [str(Path(sys.executable).with_name("zensical")), "build", "--clean", "--strict", "--config-file", str(file)]
    done = subprocess.run(command, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    done.stdout = _COLOURS.sub("", done.stdout).partition("\nTraceback")[0]
    return done


def main() -> int:
    """Build it, and put it where ``make docs`` says it is."""
    work, site = ROOT / ".cache" / "site", ROOT / "dist" / "site"
    shutil.rmtree(work, ignore_errors=True)
    done = build(work)
    if done.returncode:
        print(done.stdout, file=sys.stderr)
        return 1
    shutil.rmtree(site, ignore_errors=True)
    shutil.move(work / "site", site)
    print(f"The site is in {site.relative_to(ROOT)}. To read it: python3 -m http.server --bind 127.0.0.1 --directory {site} 8080")
    return 0


if __name__ == "__main__":
    sys.exit(main())
