"""The tool python: an interpreter for each conversation, and the sandbox around it. driver.py and probes.py run inside it.

Begin with ``tool``. ``sessions`` has the interpreters, ``interpreter`` is one, ``launch`` and ``chatui.sandbox`` define its sandbox, and
``driver`` is the program in it, which nothing imports and which nobody trusts: the code can write anything that the driver writes.
``examination`` tries to escape (with ``probes``), and ``availability`` keeps the tool off until all attempts have failed. ``service`` uses
the operator's own service instead.

After each call, ``data_files`` copies the files that code wrote to ``/mnt/data`` out of the sandbox. ``turns.calls.file_access`` stores
them, ``display.files`` shows them below the answer, and ``web.files`` serves them, after a check in ``permissions.files``.
"""
