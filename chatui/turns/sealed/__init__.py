"""Hidden text that a program carries for us and cannot read: sealed for its key's owner, by a key that only this server has."""
