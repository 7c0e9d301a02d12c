"""What a model may call: our tools, functions of packages and programs, tools of other servers; and the only fetcher.

Begin with ``tool`` and ``catalogue``: which tools there are, who may use them, and which are not offered together because one reads private
data and another sends something out. ``functions`` makes tools of a package's and of a program's functions, ``openapi`` and ``mcp``
of the operations of other servers, which the operator confirms (``server_registry``; ``remote`` cleans their texts).
``execution`` runs a tool with a time limit, ``replies`` writes its answer.

``sign_in`` has people sign in at a tool server as themselves, and ``tool_accounts`` is what their page shows and does about it.

Only ``fetcher`` and the door of ``sign_in`` connect to addresses that strangers choose, both through ``outbound``. A tool of others gets
its checked arguments and nothing else; our own also get ``tool.CallingTurn``, with files and questions, never reasoning. That a call runs
only once, and after its approval, is ``turns.calls``.
"""
