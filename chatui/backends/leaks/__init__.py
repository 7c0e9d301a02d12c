"""The rules of the leak guard: what raw model output looks like inside an answer."""
