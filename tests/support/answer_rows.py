"""Reads the rows below the answers of a page: the values that its script fills into a copy of the page's template."""

import html
import json
import re
from typing import Any


def rows_of(page: str) -> list[dict[str, Any]]:
    return [json.loads(html.unescape(values)) for values in re.findall(r'<answer-row data-row="([^"]*)">', page)]
