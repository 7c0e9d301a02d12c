"""Django's administration, as far as web/manage does not have it yet. Imports tables, so it is no part of web. To be emptied.

It shows no message. Each page checks what its member of staff may see, and every change is recorded in the same transaction.
"""
