"""Reads and writes Harmony, as token ids and as text, and converts it to OpenChatML (HIP-1)."""
