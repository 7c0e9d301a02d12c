"""The tool calls of a turn: read, claimed, approved, run, answered or handed back to a program.

Begin with ``conductor``, which answers each call of a sampling and prepares the next request. ``requested`` reads a call and checks it,
``approvals`` asks the person, ``claims`` claims the call in the database, so that it never runs twice, and ``tools.execution`` runs it
where it cannot block anything else. The reply becomes a frame (``tools.replies``), and the model is sampled again, in the same turn. Calls
of a program's own functions are handed back to it, and ``turns.program_start`` stores its replies later.

``file_access`` stores the files that code made with the turn, has them copied into the next interpreter, and gives the document search the
documents of the conversation. Calls, arguments and replies are hidden; people see one line for each call.
"""
