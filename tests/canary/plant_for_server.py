"""Plants markers in the database of a server that a test is about to start, and prints the details as JSON."""

import json
import os
import sys


def main() -> None:
    """Plant, for people who exist."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatui.settings")
    import django

    django.setup()
    from chatui.models.user import User
    from tests.canary.planting import plant
    from tests.support.canary import Canary, known_of

    canary, owner = Canary(), User.objects.get(username="owner")
    planted = plant(owner, canary)
    known = [{**ids, "token": planted.link.token} for ids in known_of(owner)]
    json.dump({"beginning": canary.beginning, "planted": canary.planted, "known": known}, sys.stdout)


if __name__ == "__main__":
    main()
