"""The program in that process, with a reader for each kind of file.

Begin with ``worker``. It runs without rights, on bytes from strangers, and imports nothing of the product but ``chatui.sandbox``,
``documents.kinds`` and ``documents.plain_text``. All readers write into ``text_collector``, which has the limits on size and time.
"""
