"""The reasons for which a line of a reasoning summary is not shown."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """Why a line is not shown. The values are sentences for staff."""

    EMPTY = "it is empty"
    LINES = "it has more than one line"
    LENGTH = "it is too long"
    UNSEEN = "it contains invisible or look-alike characters"
    MARKERS = "it contains control tokens or words of the Harmony format"
    ADDRESS = "it contains an address, or a file name that is not in the visible text"
    CODE = "it contains code or markup"
    ADDRESSED = "it addresses the reader, asks for something, or names a place to call or click"
    JUDGED = "it suspects, insults or blames somebody, or mentions deceit"
    REFUSAL = "it is a refusal"
    POLICY = "it mentions instructions, rules or permission"
    SCRIPT = "it uses a script that the visible text does not use"
    LANGUAGE = "it is in another language than the visible text"
    COPY = "it copies hidden text"
    SECRET = "it contains a number, key or random word that is not in the visible text"  # noqa: S105 - a sentence
    ENCODED = "it contains hidden text in a simple cipher"
    NAME = "it contains a name that is only in hidden text"
    RETOLD = "it paraphrases the system or developer message"
    WORD = "it contains a word that is neither in the visible text nor a common one"
    REVIEW = "the model that reviews summaries did not allow it"
