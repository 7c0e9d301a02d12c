"""Erasing a person: the account and all that is theirs, for good; and the list by which a restored backup forgets them again."""
