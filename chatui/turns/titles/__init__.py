"""Titles of a few words, which a model is asked for in the background once the first question of a conversation is answered."""
