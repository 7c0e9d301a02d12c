"""Who people and programs are: passwords, passkeys, providers, invitations, keys, sessions, groups."""
