"""The tool calls of a turn: read, claimed, approved, run, answered or handed back to a program."""
