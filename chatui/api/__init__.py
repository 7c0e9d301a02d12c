"""/v1 for programs: three formats in, the same turns, three formats out. Holds only what has passed the gate.

Begin with ``asking``. ``guarded`` authenticates a program by its key, and ``bodies`` reads what it sends; ``response_request``,
``chat_request`` and ``messages_request`` turn a request into an ``Ask``, with what all formats share: ``request_parts`` (its fields),
``parsed_messages``, ``functions`` (that a program offers to the model) and ``answer_format``. ``turns.program_start`` stores the earlier
messages as the turn starts, which then runs as any other. ``turns.publisher`` hands each raw event to ``turns.streams.program`` as well,
which passes it through the gate for the audience PROGRAM. ``answering`` follows that stream, stops the turn when the client disconnects,
and checks the key again and again; ``socket`` does the same over a WebSocket; background responses are followed and recorded by
``background`` and ``recordings`` instead. ``response_events``, ``response_object``, ``chat_chunks`` and ``message_events`` write it.

``permissions.programs`` decides who may receive raw reasoning, and ``reasoning_access`` records each time before it is sent. Hidden text
that programs store for us is a sealed token (``turns.sealed``); no edge ever has it in plain text. Stored answers are read
again as the same events by ``turns.stored_program``, and stored items by ``display.programs``, through the same gate; those that
should not be stored are erased by ``turns.running``. ``live`` refuses long bodies before they are read. docs/api.md describes the
API.
"""
