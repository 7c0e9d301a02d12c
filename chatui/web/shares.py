"""The pages for share links: create one after a preview, list one's own, read a shared conversation, and continue a copy of it."""

from __future__ import annotations

from uuid import UUID, uuid4

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext

from chatui.accounts import profile
from chatui.codes import ProductCode
from chatui.display import conversation_list
from chatui.display.conversation_list import shown_conversation
from chatui.env import environment
from chatui.guesses import GuessLimit, Scope
from chatui.limits import Throttle
from chatui.permissions import access
from chatui.permissions import shares as permissions_shares
from chatui.proxies import is_only_here, public_address
from chatui.transfer import shares as transfer_shares
from chatui.transfer.shares import ShareOptions
from chatui.transfer.upload import ImportRefusedError
from chatui.web.errors import refuse
from chatui.web.guards import for_anybody, number, person_of, secret_address, signed_in, visitor_of
from chatui.web.pages import draws_diagrams

# Many people in one organization may follow a revoked link; an attacker who guesses links tries far more often.
_misses = GuessLimit("share link", address=Scope(free=59, longest=60, window=600), network=Scope(free=180, longest=60, window=600))
_copies = Throttle("copy-of-share", attempts=40, seconds=600)
_new_links = Throttle("new-share-link", attempts=30, seconds=600)


@signed_in("GET", "POST")
@draws_diagrams
def share(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """A preview with the form to create a link; afterwards the new link."""
    person = person_of(request)
    if request.method == "POST":
        _new_links.check(str(person.pk))
        visitor = visitor_of(request, "page")
        link = transfer_shares.create(
            visitor,
            conversation_id,
            request.POST.get("leaf"),
            number(request.POST.get("days"), -1),
            ShareOptions(request.POST.get("named") == "yes", request.POST.get("documents") == "yes"),
        )
        return redirect(f"{reverse('share', args=[conversation_id])}?made={link.id}")
    row = access.own_permanent(person, conversation_id)
    preview = transfer_shares.preview(person, conversation_id)
    context = {
        "conversation": shown_conversation(row),
        "preview": preview,
        "days": transfer_shares.days_to_choose(),
        "name": profile.shown_name(person),
        "links": _with_addresses(request, transfer_shares.links(person, conversation_id)),
        "made": request.GET.get("made", ""),
        "signed_in_only": environment().share_audience == "signed-in",
        "is_only_here": is_only_here(request),
    }
    return render(request, "share/share.html", context)


@signed_in("GET")
def shares(request: HttpRequest) -> HttpResponse:
    links = _with_addresses(request, transfer_shares.links(person_of(request)))
    return render(request, "share/links.html", {"links": links, "is_only_here": is_only_here(request)})


@signed_in("POST")
def revoke(request: HttpRequest, link_id: UUID) -> HttpResponse:
    transfer_shares.revoke(visitor_of(request, "page"), link_id=link_id)
    conversation_id = access.key_in(request.POST.get("conversation"))
    return _page_of(request, conversation_id) if conversation_id else redirect("shares")


@signed_in("POST")
def revoke_of(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    transfer_shares.revoke(visitor_of(request, "page"), conversation_id=conversation_id)
    return _page_of(request, conversation_id)


@signed_in("POST")
def revoke_all(request: HttpRequest) -> HttpResponse:
    transfer_shares.revoke(visitor_of(request, "page"))
    return redirect("shares")


@for_anybody("GET")
@draws_diagrams
def shared(request: HttpRequest, token: str) -> HttpResponse:
    """The shared snapshot. Links that never existed, have expired or were revoked get the same response."""
    if environment().share_audience == "signed-in" and not request.user.is_authenticated:
        return redirect_to_login(request.path)
    try:
        context = {"shared": transfer_shares.read(token), "token": token}
    except access.NotFoundError:
        return _missed(request)
    response = render(request, "share/shared.html", context)
    response.headers["Referrer-Policy"] = "no-referrer"
    response.headers["X-Robots-Tag"] = "noindex, nofollow, noarchive"
    return response


@secret_address
@signed_in("GET", "POST")
def copy(request: HttpRequest, token: str) -> HttpResponse:
    """Asks whether to copy the shared snapshot into a conversation of one's own, and does so. It has a page of its own because the shared
    one, which everybody with the link may read, has no form and no cookie."""
    person, refused = person_of(request), ""
    try:
        if request.method == "POST":
            _copies.check(str(person.pk))
            row = transfer_shares.copy(person, token, access.key_in(request.POST.get("key")) or uuid4())
            conversation_list.tell(row.owner_id, conversation_list.listed(row))
            return redirect("conversation", row.pk)
    except ImportRefusedError as error:
        refused = gettext("Nothing was copied: %(reason)s.") % {"reason": error.problem.hint}
    except access.NotFoundError:
        return _missed(request)
    try:
        context = {"shared": transfer_shares.copyable(token), "token": token, "refused": refused, "key": uuid4()}
    except access.NotFoundError:
        return _missed(request)
    return render(request, "share/copy.html", context, status=400 if refused else 200)


def _missed(request: HttpRequest) -> HttpResponse:
    # Counted after the look-up: wrong links never block a valid one, which cannot be guessed anyway.
    _misses.miss(visitor_of(request, "page").address)
    return refuse(request, ProductCode.LINK, 404)


def _with_addresses(request: HttpRequest, links: list[transfer_shares.Link]) -> list[tuple[transfer_shares.Link, str]]:
    return [(link, public_address(request, reverse("shared", args=[link.token]))) for link in links]


def _page_of(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Redirect to the page for sharing a conversation, or to all links for somebody who may not share any more."""
    return redirect("share", conversation_id) if permissions_shares.may_share(person_of(request)) else redirect("shares")
