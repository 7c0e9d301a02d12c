"""What the debug view may show: frames, turns, prompts and tokens, all of it as text. Behind ``access.view_hidden`` only."""
