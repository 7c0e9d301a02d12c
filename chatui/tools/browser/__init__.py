"""The tool browser: the pages of one turn, opened and shown with line numbers.

``session`` has the pages of a turn and decides which addresses may be opened, ``engines`` searches, ``pages`` has HTML read in the
process for files (``documents.reading``). Pages are fetched by ``tools.fetcher`` and stored by ``store.opened_pages``;
``renderer.markup.citations`` makes links of the citations in an answer, wherever it is rendered.
"""
