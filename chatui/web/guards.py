"""The one decorator of our views: turns what ``access`` raises into the right answer."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse

from chatui.access import NotFoundError, OptInNeededError, RefusedError
from chatui.web.errors import refuse

View = Callable[..., HttpResponse]


def guarded(view: View) -> View:
    """ "Not found" and "not yours" are the same 404; a refused look at hidden channels is a 403 that names nothing."""

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except NotFoundError as error:
            return refuse(request, error.code, 404)
        except (RefusedError, OptInNeededError) as error:
            return refuse(request, error.code, 403)

    return answer
