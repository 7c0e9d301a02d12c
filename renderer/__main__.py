"""The command line of this package: ``python -m renderer check|convert|show FILE``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from renderer import command
from renderer.harmony.vocabulary import FILE_NAME, Vocabulary, VocabularyError


def main(arguments: list[str]) -> int:
    """Run the command. Exit codes: 0 good, 1 the transcript breaks a rule, 2 it could not be read at all."""
    parser = argparse.ArgumentParser(prog="python -m renderer", description="Check, convert or show a transcript.")
    parser.add_argument("--vocabulary", metavar="PATH", help=f"{FILE_NAME}, for token ids")
    command.add_arguments(parser)
    options = vars(parser.parse_args(arguments))

    def vocabulary() -> Vocabulary:
        if options["vocabulary"] is None:
            raise VocabularyError("Token ids need the vocabulary of gpt-oss: --vocabulary PATH, before the command.")
        return Vocabulary.read(Path(options["vocabulary"]))

    return command.run(options, command.Terminal(sys.stdout.write, sys.stderr.write, vocabulary))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
