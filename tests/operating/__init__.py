"""Runs the commands of ``docs/operating.md`` literally, as an operator would."""
