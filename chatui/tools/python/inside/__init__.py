"""The programs that run in the sandbox. Nothing of the product imports them, and they import nothing of it: they are passed on as text."""
