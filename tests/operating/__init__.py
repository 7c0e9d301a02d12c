"""Runs the commands of ``docs/operating`` literally, as an operator would."""
