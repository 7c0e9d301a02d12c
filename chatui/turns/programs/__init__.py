"""Turns of programs: how they start, what the model gets, and what is stored of them."""
