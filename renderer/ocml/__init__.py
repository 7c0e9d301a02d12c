"""Reads and writes OpenChatML 2.2, as text and as JSON.

Begin with ``document`` (whole documents), ``reader`` (text in pieces) or ``interchange`` (JSON). docs/openchatml.md describes the format,
``tests/conformance`` has its cases.
"""
