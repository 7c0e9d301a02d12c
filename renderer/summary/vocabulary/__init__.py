"""Lists of common words of each language that a reasoning summary may use even if they are not in the visible text.

They describe what kind of work was done, and on what. No word here names or judges a person, is a number, or is useful to somebody who
wants something from the reader. A missing word blocks a harmless line; a word too many can reveal something. Before you add one, consider
what a line with it could reveal.

The lists by field, and those of Spanish, French and Japanese, are longer and less common: their words do not count as plain if the system
or developer message contains them. For Chinese, single characters are listed, too; none is common in names, and none is a number."""
