"""The decorator of all views that check access: it turns what ``access`` raises into the right response."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponseBase

from chatui.guess_limits import MustWaitError
from chatui.permissions.access import NotFoundError, OptInNeededError, RefusedError
from chatui.permissions.debug_requests import NotIndependentError
from chatui.throttle import ThrottledError
from chatui.web.errors import refuse

View = Callable[..., HttpResponseBase]


def guarded(view: View) -> View:
    """ "Not found" and "not yours" are the same 404. Refused access to hidden channels is a 403 that names nothing.

    Somebody who is signed out is then sent to the sign-in page. Views of hidden channels rely on this instead of ``login_required``,
    because this way the attempt is recorded first.
    """

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return view(request, *args, **kwargs)
        except NotFoundError as error:
            return refuse(request, error.code, 404)
        except RefusedError as error:
            return refuse(request, error.code, 403) if request.user.is_authenticated else redirect_to_login(request.get_full_path())
        except (OptInNeededError, NotIndependentError) as error:
            return refuse(request, error.code, 403)
        except ThrottledError as error:
            return refuse(request, error.code, 429)
        except MustWaitError as error:
            return refuse(request, error.code, 429, wait_seconds=error.seconds)

    return answer
