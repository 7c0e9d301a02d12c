"""Saved prompts as a file: writes a person's own as JSON, and reads JSON or CSV, also as other products export them.

A file is imported whole or not at all, so that nothing of it is lost without a word; of an archive, what is left out is counted.
``docs/usage.md`` has the formats.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from django.db import transaction
from django.utils.translation import gettext as _

from chatui.display import saved_prompts
from chatui.display.saved_prompts import MAX_PROMPTS, NAME_CHARS, TEXT_CHARS, PromptText
from chatui.models.user import User
from chatui.transfer.other_products.conversation_tree import Counts, DroppedKind
from chatui.transfer.other_products.reading import MAX_LISTED, PROMPTS, OwnFiles
from renderer import strict_json
from renderer.strict_json import JsonError, object_of

MAX_FILE_BYTES = 8 * 1024 * 1024
"""As many bytes as MAX_PROMPTS prompts may have, in any letters."""
_NAMES, _TEXTS = ("name", "title", "act", "command"), ("text", "content", "prompt")
"""The keys of a prompt, the columns of a table: ours, and those of Open WebUI and of common collections."""
_MOST_PROBLEMS = 5


class PromptFileError(Exception):
    """Nothing was imported. ``problems``: sentences that quote nothing of the file."""

    def __init__(self, *problems: str) -> None:
        super().__init__(*problems)
        self.problems = problems


@dataclass(frozen=True, slots=True)
class ImportedPrompts:
    """How many prompts were ``added``, how many of the file the person ``had`` already, with the same name and text, and how many of those
    that were added were ``numbered``, because another has their name."""

    added: int
    had: int
    numbered: int


def written(person: User) -> str:
    """The person's own prompts as JSON, the oldest first; empty without any."""
    prompts = [{"name": each.name, "text": each.text} for each in saved_prompts.own_texts(person)]
    return json.dumps({"prompts": prompts}, ensure_ascii=False, indent=2) + "\n" if prompts else ""


def import_file(person: User, data: bytes) -> ImportedPrompts:
    """Raises PromptFileError."""
    found = read(data)
    with transaction.atomic():
        saved_prompts.lock(person)  # a second click on the button finds what the first one has added
        fresh = _fresh(found, saved_prompts.own_texts(person))
        if not saved_prompts.add(person, fresh.values()):
            problem = _("The file has %(count)d prompts that you do not have yet, and you may have %(most)d prompts in all.")
            raise PromptFileError(problem % {"count": len(fresh), "most": MAX_PROMPTS})
    numbered = sum(found[number].name != prompt.name for number, prompt in fresh.items())
    return ImportedPrompts(len(fresh), len(found) - len(fresh), numbered)


def import_archived(person: User, files: OwnFiles, left_out: Counts) -> int:
    """Add the prompts of an archive that was made here, and count those that are left out. Returns how many were added."""
    with transaction.atomic():
        saved_prompts.lock(person)
        fresh = fresh_in(person, files, left_out)
        saved_prompts.add(person, fresh)
    return len(fresh)


def fresh_in(person: User, files: OwnFiles, left_out: Counts) -> list[PromptText]:
    """The prompts of an archive that the person does not have yet, as many as they may still have. What else is in it is counted."""
    listed = files.listed(PROMPTS, "prompts")
    if listed is None:
        left_out[DroppedKind.OTHER_FILE] += 1
        return []
    if not listed:
        return []
    # Their lengths first: to clean a megabyte takes a second.
    given = [prompt for each in listed[:MAX_LISTED] if not problem_with(prompt := _prompt(object_of(each)))]
    readable = [prompt for each in given if not problem_with(prompt := saved_prompts.clean(each))]
    own = saved_prompts.own_texts(person)
    found = readable[:MAX_PROMPTS]
    fresh = list(_fresh(found, own).values())
    added = fresh[: max(0, MAX_PROMPTS - len(own))]
    left_out[DroppedKind.PROMPT_UNREADABLE] += len(listed) - len(readable)
    left_out[DroppedKind.PROMPT_EXISTS] += len(found) - len(fresh)
    left_out[DroppedKind.PROMPT_FULL] += len(readable) - len(found) + len(fresh) - len(added)
    return added


def _fresh(found: Sequence[PromptText], own: Sequence[PromptText]) -> dict[int, PromptText]:
    """The prompts of a file that are not among a person's ``own``, by their place in it. A name that another has gets a number, so what has
    the same text and a name with a number was in the file before."""
    taken = {each.name.casefold() for each in own}
    known = {(each.name.casefold(), each.text) for each in own}
    fresh: dict[int, PromptText] = {}
    for index, prompt in enumerate(found):
        names = islice(saved_prompts.numbered(prompt.name), MAX_PROMPTS)
        if any((name.casefold(), prompt.text) in known for name in names):
            continue
        fresh[index] = replace(prompt, name=saved_prompts.free_name(prompt.name, taken))
        taken.add(fresh[index].name.casefold())
        known.add((fresh[index].name.casefold(), prompt.text))
    return fresh


def read(data: bytes) -> list[PromptText]:
    """The prompts of a file, clean. Raises PromptFileError."""
    if len(data) > MAX_FILE_BYTES:
        raise PromptFileError(_("The file is larger than %(count)d MB.") % {"count": MAX_FILE_BYTES // (1024 * 1024)})
    prompts: list[PromptText] = []
    problems: list[str] = []
    for number, entry in enumerate(_entries(data), start=1):
        if len(problems) == _MOST_PROBLEMS or len(prompts) > MAX_PROMPTS:
            break
        prompt = saved_prompts.clean(_prompt(entry))
        if problem := problem_with(prompt):
            problems.append(_("Prompt %(number)d: %(problem)s") % {"number": number, "problem": problem})
        prompts.append(prompt)
    if len(prompts) > MAX_PROMPTS:
        problems.append(_("The file has more than %(most)d prompts.") % {"most": MAX_PROMPTS})
    if not prompts:
        problems.append(_("There is no prompt in the file."))
    if problems:
        raise PromptFileError(*problems)
    return prompts


def _prompt(entry: Mapping[str, object]) -> PromptText:
    return PromptText(_of(entry, _NAMES), _of(entry, _TEXTS))


def problem_with(prompt: PromptText) -> str:
    """Why a prompt cannot be stored; empty if it can."""
    if not prompt.name:
        return _("it has no name.")
    if not prompt.text:
        return _("it has no text.")
    if len(prompt.name) > NAME_CHARS:
        return _("its name is longer than %(most)d characters.") % {"most": NAME_CHARS}
    if len(prompt.text) > TEXT_CHARS:
        return _("its text is longer than %(most)d characters.") % {"most": TEXT_CHARS}
    return ""


def _entries(data: bytes) -> Iterable[Mapping[str, object]]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise PromptFileError(_("The file is not text in UTF-8.")) from None
    return _json(text) if text.lstrip()[:1] in ("[", "{") else _csv(text)


def _json(text: str) -> Iterable[Mapping[str, object]]:
    try:
        value = strict_json.loads(text)
    except JsonError:
        raise PromptFileError(_("The file begins as JSON, but it is not valid JSON.")) from None
    listed = value.get("prompts") if isinstance(value, dict) else value
    if not isinstance(listed, list):
        raise PromptFileError(_("The JSON is neither a list of prompts nor an object with such a list under “prompts”."))
    return [each if isinstance(each, dict) else {} for each in listed]


def _csv(text: str) -> Iterator[Mapping[str, object]]:
    table = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        columns = [(name or "").strip().lower() for name in table.fieldnames or ()]
        if not set(columns) & set(_NAMES) or not set(columns) & set(_TEXTS):
            raise PromptFileError(_("The file is neither JSON nor a CSV table whose first line has the columns “name” and “text”."))
        table.fieldnames = columns
        for row in table:
            if None in row or None in row.values():
                problem = _("Line %(line)d of the table has more or fewer cells than its first line.")
                raise PromptFileError(problem % {"line": table.line_num})
            yield row
    except csv.Error:
        problem = _("The table cannot be read any further after line %(line)d: a quotation mark is missing, or a cell is too long.")
        raise PromptFileError(problem % {"line": table.line_num}) from None


def _of(entry: Mapping[str, object], keys: Iterable[str]) -> str:
    """The first of these values that is text. A command of Open WebUI begins with a slash."""
    given = ((key, entry.get(key)) for key in keys)
    return next((value.removeprefix("/") if key == "command" else value for key, value in given if isinstance(value, str) and value), "")
