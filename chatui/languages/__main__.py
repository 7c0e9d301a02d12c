"""``python -m chatui.languages``: compiles the translation catalogues that have changed. Prints nothing if there are none."""

from __future__ import annotations

import sys

from chatui.languages.catalogues import compile_stale

if __name__ == "__main__":
    if compiled := compile_stale():
        sys.stdout.write(f"Compiled {len(compiled)} catalogues of translations.\n")
