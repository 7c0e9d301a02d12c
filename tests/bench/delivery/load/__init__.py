"""The load of a run: a process that plays many pages at once, and measures how long each word was on its way."""
