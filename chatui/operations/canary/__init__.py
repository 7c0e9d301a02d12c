"""Sends marked answers through a live deployment and searches everything that comes out.

``manage.py canary``. ``run`` creates the ``fixtures`` of a run and removes them afterwards; ``journey`` is the order of events. ``peer`` is
the model server that the canary plays; its answers (``answers``) are ``scripts`` with markers in every hidden place. ``browser`` speaks
HTTP and WebSocket from outside, ``crawl`` reads the product's own list of URLs, so that it misses no route, and ``programs`` sends requests
to every address of the API, with every kind of key. ``watch`` searches every byte for markers, and looks at the visible text in the
database.
"""
