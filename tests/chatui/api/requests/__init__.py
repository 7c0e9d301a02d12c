"""Tools of programs and of ours, called in their answers."""
