"""An account from outside: directories (SCIM) create and change it, closing and erasing end it.

``closing`` is the only way to close an account: it ends all access, and handles sign-outs by providers. ``closed_accounts`` hands over or
erases what is left, when ``manage.py purge`` finds it old enough. ``erasure`` erases a person, for Administration and for ``manage.py
erase_person``: it is recorded first, deletes everything in order and counts it, removes the traces from the files of the database, and
keeps a list for restored backups.

SCIM 2.0: ``web.scim`` has the endpoints, ``scim_tokens`` the rights, ``scim_patches`` reads every form of change, ``scim_people`` and
``scim_groups`` apply it, ``scim_resources`` writes the answer. A directory and a sign-in with the same provider use the same account
(``scim_people.find_or_create_account``).
"""
