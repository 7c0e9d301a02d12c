"""Lists of common words of each language that a reasoning summary may use even if they are not in the visible text.

They say what kind of work was done, on what kind of thing. No word here names or judges a person, is a number, or helps somebody who
wants something from the reader. A missing word costs a line; a word too many can reveal something. Before you add one, ask what a line
with it could give away.

The lists by field, and those of Spanish, French and Japanese, are longer and less plain: a word of these is not plain where the system or
developer message has it. In Chinese single characters are listed, too; none there is usual in names, and none is a number.
"""
