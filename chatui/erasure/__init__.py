"""Erases a person: the account and all of its data, for good; and lists erasures so that a restored backup can repeat them."""
