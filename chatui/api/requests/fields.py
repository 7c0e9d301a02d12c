"""Types of fields that both formats share."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

# Without fail_fast, a hundred thousand wrong items would be as many errors, which take seconds, and only the first is reported.
Metadata = Annotated[dict[str, str], Field(max_length=16, fail_fast=True)]
"""Up to 16 texts of the program's own."""
Names = Annotated[list[str], Field(fail_fast=True)]
"""A list of names."""
