"""The admin page for API keys: lists and revokes them. It never shows a key itself."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from chatui.accounts.api_keys import management
from chatui.admin.read_only import ReadOnlyAdmin
from chatui.models import ApiKey, User
from chatui.web.visitors import visitor_of


@admin.register(ApiKey)
class ApiKeyAdmin(ReadOnlyAdmin):
    """API keys. Staff who may see accounts see them, and staff who may change accounts can revoke them."""

    list_display = ("prefix", "owner", "name", "views_hidden", "created_at", "expires_at", "last_used_on", "revoked_at")
    fields = readonly_fields = (*list_display, "choices", "tools", "for_responses", "for_chat", "per_minute", "reads_all", "made_by_name")
    search_fields = ("=prefix", "owner__username")
    ordering = ("-created_at",)
    list_select_related = ("owner",)
    show_full_result_count = False
    actions = ["revoke"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApiKey]:
        """All keys, without their digests."""
        return ApiKey.objects.defer("digest")

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Allow no filters: filtering by the digest would reveal it, letter by letter."""
        return False

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Staff who may see accounts."""
        return isinstance(request.user, User) and request.user.is_staff and request.user.has_perm("chatui.view_user")

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        """Staff who may change accounts."""
        return self.has_view_permission(request) and request.user.has_perm("chatui.change_user")

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Staff who may see the list."""
        return self.has_view_permission(request)

    @admin.action(description=_("Revoke the selected keys"), permissions=["revoke"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
        """Revoke the selected keys, which stop working at once. Each is recorded."""
        count = management.revoke_for_admin(visitor_of(request, "admin"), list(queryset))
        words = ngettext("%(count)d key was revoked.", "%(count)d keys were revoked.", count)
        messages.success(request, words % {"count": count})
