"""Conversations, files, documents, search: rows, and what is derived from them.

Holds hidden text, and shows none: no edge may import this room, and what ``display`` and ``transfer`` read here goes through the gate.
Begin with ``transcripts``, which loads and appends messages as frames along one branch of the tree; ``exchanges`` reads all that a page
shows of it. Each append passes what is visible of a message to ``search_index``, which keeps the terms of its words (``search_words``).
``documents`` writes the frames of documents (``document_frames``) before a question, ``context_use`` computes what fits, and ``passages``
indexes the text of a document that is to be searched, before its question is stored.

Whatever takes long here works in short transactions (``bulk_append``, ``erasure``, ``ownership_transfer``, ``reindexing``): nobody waits
for somebody else's import or deletion. An import is hidden until it is complete. Temporary conversations are in no list, because every list
starts from ``permissions.access``; ``temporary`` has their end.
"""
