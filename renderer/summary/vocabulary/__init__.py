"""Plain words: what a line of a reasoning summary may say though the visible text does not, a list for each language.

They tell what kind of work was done. No word is here that could name a person, a thing of somebody's, a number or what to do next: a
word that is missing costs a line, a word too many can tell something. To add one, ask what a line made of it could give away.
"""
