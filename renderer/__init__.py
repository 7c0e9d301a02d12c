"""A library that reads and writes model transcripts, decides who may see what, and renders safe HTML.

It is pure: no Django, no network, no clock. ``README.md`` in this directory says how to use it by itself. Read in this order:

- values: ``errors`` (error codes and exceptions), ``characters`` (which nobody can see), ``tokens`` (the nine control tokens),
  ``frames`` (Header, Frame, Transcript), ``frame_kinds`` (answer, preamble, summary, broken), ``events`` (a frame while it is being
  written, and the Assembler), ``strict_json``
- ``ocml``, the OpenChatML format: ``document`` (whole documents, read and written), ``reader`` (text in pieces to events, with
  ``frame_states``), ``frame_header``, ``document_header`` (with ``plain_values`` and ``yaml_values``), ``calls`` (rules for tool calls),
  ``interchange`` (the same document as JSON)
- ``harmony``, the format of gpt-oss: ``pieces`` and ``vocabulary`` (tokens and text), ``reader`` (a model's output to events, failing
  closed), ``hip1`` (OpenChatML to Harmony and back, with the side record), ``prompt`` (what a model that takes tokens is sent)
- ``formats``: reads and writes a transcript in any format; ``command``: the same on the command line
- ``history``: what a model is sent again
- ``gate``: who may see what; frames reach people only through it
- ``markup``, Markdown to safe HTML: ``links``, ``extensions`` and ``mathematics`` (our rules for markdown-it), ``markdown`` (the renderer),
  ``html`` (the sanitizer), ``tails`` and ``repair`` (text that is still being written), ``growing`` (all of it for one message),
  ``citations``, ``operator_pages`` (the operator's own pages)
- ``activities``: reasoning summaries made of the product's own words; begin with ``lines``
"""
