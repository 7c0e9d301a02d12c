"""What a model wrote, and what a person may see of it: pure values and functions, no Django, no network, no clock.

Read in this order:

- the values: ``errors`` (codes, and errors that know their place), ``tokens`` (the nine control tokens), ``frames`` (Header, Frame,
  Transcript), ``events`` (a frame while it is being written, and the Assembler)
- OpenChatML: ``frame_header``, ``document_header``, ``calls`` (what tool traffic must keep to), ``ocml_reader`` (text in pieces to
  events; ``utf8`` and ``cursor`` help it), ``ocml`` (whole documents both ways), ``interchange`` (the same as JSON, by ``strict_json``)
- Harmony: ``harmony_headers`` and ``harmony`` (a model's output to events, failing closed), ``harmony_pieces``, ``harmony_tokens``,
  ``harmony_text``, ``vocabulary``, ``hip1`` and ``side_record`` (OpenChatML to Harmony and back), ``system_messages``, ``typescript``
  and ``prompt`` (what is sent to a model that takes tokens)
- ``forms``: all four forms of a transcript, read and written alike
- ``history``: what a model sees again
- safe HTML (``markup``): ``links``, ``amendments`` (our rules for markdown-it), ``markdown`` by ``html_rules``, ``html``,
  ``repair`` and ``tails`` (an open block), ``blocks``, and ``operator_pages`` for the operator's own words
- ``gate``: who may see what, the one door between frames and people
"""
