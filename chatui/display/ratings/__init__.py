"""Ratings of answers: what pages show of them, and what a person does with theirs."""
