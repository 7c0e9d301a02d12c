"""Django's administration, a repair hatch: off unless CHATUI_DJANGO_ADMIN asks for it, for superusers only, and nothing links to it.

Administration is ``web.manage``. ``site`` shows rows of people, groups, limits and invitations as they are stored. It shows no message, and
every change is recorded in the same transaction. Imports tables, so it is no part of web.
"""
