"""Django asks for this folder."""
