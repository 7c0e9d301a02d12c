"""Markdown from strangers becomes SafeHtml, also while it grows. The only maker of SafeHtml but for templates.

Begin with ``html``: ``markdown`` makes HTML, with the rules of ``extensions``, ``emphasis``, ``lines_below``, ``alerts`` and
``mathematics``, and ``html`` sanitizes it. ``growing`` does it for a message that is being written: closed blocks once, the open one by
``tails``, with ``repair``. A new thing that may be shown is a line in the allow-list of ``html``.
"""
