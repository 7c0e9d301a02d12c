"""Which model servers this deployment has, which are connected, and which models are offered to whom.

A model server is a program at an address; our code that speaks with one is in ``backends``. Begin with ``configured``: servers come from
the operator's file, from Administration and from the environment. ``connected`` has one backend for each server and event loop, ``choice``
the models that a person may choose, and ``vocabulary`` what a server of token ids needs. A server that staff without
``view_hidden_channels`` created or changed is offered to nobody until somebody with that permission confirms it.
"""
