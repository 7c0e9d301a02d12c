"""What a model wrote, and what a person may see of it: pure values and functions, no Django, no network, no clock.

``README.md`` beside this file says how to use it by itself. Read in this order:

- the values: ``errors`` (codes, and errors that know their place), ``tokens`` (the nine control tokens), ``frames`` (Header, Frame,
  Transcript), ``frame_kinds`` (answer, preamble, broken), ``events`` (a frame while it is being written, and the Assembler)
- ``ocml``, OpenChatML: ``document`` (whole documents both ways), ``reader`` (text in pieces to events; ``document_beginning`` and
  ``frame_states`` are its two halves), ``frame_reader`` (pieces to whole frames), ``frame_header``, ``document_header``, ``calls`` (what
  tool traffic must keep to), ``interchange`` (the same as JSON)
- ``harmony``: ``reader`` and ``headers`` (a model's output to events, failing closed), ``text``, ``token_reader``, ``hip1`` and
  ``side_record`` (OpenChatML to Harmony and back), ``prompt`` (what is sent to a model that takes tokens)
- ``formats``: all forms of a transcript, read and written alike; ``command``: the same on the command line
- ``history``: what a model sees again
- safe HTML (``markup``): ``links``, ``amendments`` (our rules for markdown-it), ``markdown`` by ``html_rules``, ``html``,
  ``repair`` and ``tails`` (an open block), ``blocks``, and ``operator_pages`` for the operator's own words
- ``summary``: which lines about reasoning may be shown
- ``gate``: who may see what, the one door between frames and people
"""
