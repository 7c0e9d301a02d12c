"""The input of a turn, from a person or a program."""
