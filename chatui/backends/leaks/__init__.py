"""Reasoning that a server without channels puts into the answer: found, and held back.

Begin with ``guard``. ``prose`` scans the growing text outside code and quotations, for the signs of ``patterns`` and the words of
``labels``. What is decided must not depend on how a server cuts the text. docs/back-ends/leak-guard.md describes the guard to operators.
"""
