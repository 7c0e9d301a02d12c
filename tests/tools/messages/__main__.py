"""``python -m tests.tools.messages`` updates all catalogues and reports their problems.

With ``check`` it changes nothing, and exits with 1 if there are problems.
"""

import os
import sys
from pathlib import Path

import django

from tests.support.places import ROOT


def main(arguments: list[str]) -> int:
    """Run the command."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatui.settings")
    django.setup()
    # Their imports need Django's settings.
    from tests.tools.messages import catalogue, domains, modules, problems

    is_check = arguments == ["check"]
    # Before sentences are collected: this module is a script like the others.
    wrong = _write_or_check({modules.REFUSALS: modules.refusals()}, is_check)
    for domain, find in domains.DOMAINS.items():
        sentences = list(find())
        for code in domains.TRANSLATED:
            path = domains.path_of(domain, code)
            text = catalogue.updated(path, code, sentences)
            wrong += _write_or_check({path: text}, is_check)
            for (_, one), message in catalogue.messages(catalogue.read(path)).items():
                wrong += [f"{path.name} of {code}: “{one}” {what}" for what in problems.find(message)]
    try:
        wrong += _write_or_check(modules.build(), is_check)
    except (modules.UnfitTranslationError, ValueError) as error:
        wrong.append(str(error))
    for line in wrong:
        print(line)
    return 1 if wrong and is_check else 0


def _write_or_check(files: dict[Path, str], is_check: bool) -> list[str]:
    """Write each file, or report that it is not up to date."""
    if is_check:
        stale = [path for path, text in files.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
        return [f"{path.relative_to(ROOT)} is not up to date: run make messages" for path in stale]
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return []


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
