"""Plain words: what a line of a reasoning summary may say though the visible text does not, a list for each language.

They tell what kind of work was done, and on what kind of thing. No word is here that could name a person, judge one, be a number, or be
of use to whoever wants something of the reader. A word that is missing costs a line, a word too many can tell something: to add one,
ask what a line made of it could give away.
"""
