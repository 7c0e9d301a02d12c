"""Plants markers in the database of a server that a test is about to start, and prints the details as JSON."""

import json
import os
import sys


def main() -> None:
    """Plant, sign the people in."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatui.settings")
    import django

    django.setup()
    from django.conf import settings
    from django.contrib.auth.models import Permission
    from django.test import Client

    from chatui.models.user import User
    from tests.canary.markers import Canary
    from tests.canary.planting import plant

    canary = Canary()
    owner = User.objects.create_user("ada")
    other = User.objects.create_user("bela")
    both = User.objects.create_user("grace", is_staff=True)
    both.user_permissions.set(Permission.objects.filter(codename__in=("view_hidden_channels", "view_any_conversation")))
    planted = plant(owner, canary)
    cookies: dict[str, str] = {"anonymous": ""}
    for name, person in (("owner", owner), ("other", other), ("both", both)):
        client = Client()
        client.force_login(person)
        cookies[name] = f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"
    ids = {
        "conversation": planted.conversation.pk,
        "turn": planted.turn.pk,
        "final": planted.final.pk,
        "hidden": planted.hidden[4].pk,
        "token": planted.link.token,
    }
    result = {"planted": canary.planted, "cookies": cookies, "ids": {name: str(value) for name, value in ids.items()}}
    json.dump({"beginning": canary.beginning, **result}, sys.stdout)


if __name__ == "__main__":
    main()
