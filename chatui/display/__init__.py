"""What pages, sockets and programs may show, as values typed by the gate: the same file names as in web.

Begin with ``conversation``: it asks ``store`` for rows and returns shown values, in which each text is SafeHtml or VisibleText. The edges
get nothing else. What is asked for and is not there, or is not this person's, raises NotFoundError: the two look the same, also where an
address names a page of a list. Some files also carry out an owner's actions (``conversation_actions``, ``folders``, ``ratings``), because
they show the result.

A page shows a window of a long conversation (``windows``): ``store.exchanges`` walks from the leaf, or from the requested message, only as
far as the window reaches. ``versions`` reads all answers to a question, each through the gate like any other.

The HTML around the text comes with the events of a turn, so a page fetches only what it has missed. The event that begins a turn carries
its question, and the one that ends it carries the part below the answer, rendered once for the whole group by ``fragments``, from the
page's own templates. ``conversation_list`` tells all pages of a person of changes in their list, also at the start and the end of a turn;
they copy an entry from a template. An answer is new until a visible page reports that it shows it.
"""
