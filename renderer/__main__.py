"""The command line of this package: ``python -m renderer check|convert|show FILE``, and ``cases``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from renderer import command
from renderer.harmony.vocabulary import FILE_NAME, Vocabulary, VocabularyError

_HERE = Path(__file__).resolve().parent
_CASES = (_HERE / "format" / "cases", _HERE.parent / "tests" / "conformance")
"""Where the published conformance cases are: in the library's wheel, and in the repository."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command. Exit codes: 0 good, 1 the transcript breaks a rule, 2 it, or the cases, could not be read at all."""
    parser = argparse.ArgumentParser(prog="python -m renderer", description="Check, convert or show a transcript.")
    parser.add_argument("--vocabulary", metavar="PATH", help=f"{FILE_NAME}, for token ids")
    command.add_arguments(parser).add_parser("cases", help="print the directory of the published conformance cases")
    options = vars(parser.parse_args(arguments))
    if options["what"] == "cases":
        return _cases()

    def vocabulary() -> Vocabulary:
        if options["vocabulary"] is None:
            raise VocabularyError("Token ids need the vocabulary of gpt-oss: --vocabulary PATH, before the command.")
        return Vocabulary.read(Path(options["vocabulary"]))

    return command.run(options, command.Terminal(sys.stdout.write, sys.stderr.write, vocabulary))


def _cases() -> int:
    found = next((directory for directory in _CASES if (directory / "manifest.json").is_file()), None)
    if found is None:
        sys.stderr.write("This installation has no conformance cases: they are in the library's own wheel.\n")
        return command.UNUSABLE
    sys.stdout.write(f"{found}\n")
    return command.GOOD


if __name__ == "__main__":
    sys.exit(main())
