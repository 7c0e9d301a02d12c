"""Prepares frames, turns, prompts and tokens for the debug view, all as text. Use it only after a check by ``access.view_hidden``."""
