"""Detects hidden text in other spellings: numbers as words or word lengths, separated letters, and names by their sound."""
