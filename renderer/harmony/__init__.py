"""Reads and writes Harmony, the format of gpt-oss models, and converts it to OpenChatML and back."""
