"""``manage.py`` whose pages wait for a statement for three seconds, instead of a minute."""

import os
import sys

PAGE_SECONDS = 3

if __name__ == "__main__":
    import django
    from django.core.management import execute_from_command_line

    os.environ["DJANGO_SETTINGS_MODULE"] = "chatui.settings"
    django.setup()
    from chatui.database import base

    base.STATEMENT_SECONDS = PAGE_SECONDS
    sys.argv[0] = "manage.py"
    execute_from_command_line(sys.argv)
