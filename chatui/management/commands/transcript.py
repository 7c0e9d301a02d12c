"""``manage.py transcript check|convert|show``: the command line of the transcript format, with the product's vocabulary."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from chatui.env import environment
from chatui.model_servers import vocabulary
from chatui.operations.second_reader import second_opinion
from renderer import command
from renderer.harmony.vocabulary import Vocabulary


class Command(BaseCommand):
    """Exit codes: 0 valid, 1 the transcript breaks a rule, which is printed with its position, 2 it could not be read at all, 3 it is
    valid, but openai-harmony reads it differently, and the difference is not a known one.
    """

    help = "Check, convert or show a transcript. FILE may be - for standard input."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        command.add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        out, err = partial(self.stdout.write, ending=""), partial(self.stderr.write, ending="")
        if code := command.run(options, command.Terminal(out, err, _vocabulary, second_opinion)):
            sys.exit(code)


def _vocabulary() -> Vocabulary:
    return vocabulary.load(environment().data_dir)
