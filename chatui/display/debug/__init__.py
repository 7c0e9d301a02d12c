"""Prepares frames, turns, prompts and tokens for the debug view, all of it as text. Only for use behind ``access.view_hidden``."""
