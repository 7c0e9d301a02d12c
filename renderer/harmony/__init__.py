"""Reads and writes Harmony, as token ids and as text, and converts it to OpenChatML (HIP-1).

``reader`` reads a model's output and hides when in doubt; ``pieces`` splits ids or text into markers and text; ``hip1`` converts;
``prompt`` writes what a model is sent, and training examples. docs/harmony.md lists the differences from openai-harmony.
"""
