"""Lists of common words, one for each language, that a reasoning summary may use even if they are not in the visible text.

They say what kind of work was done, on what kind of thing. No word here names or judges a person, is a number, or helps somebody who
wants something from the reader. A missing word costs a line; a word too many can reveal something. Before you add one, ask what a line
with it could give away.
"""
