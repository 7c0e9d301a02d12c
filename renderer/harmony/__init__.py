"""Harmony: what gpt-oss models read and write, as token ids and as text, and its bridge to OpenChatML."""
