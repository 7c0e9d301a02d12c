"""Every address of the product. A test walks this list and fails on one that has not been reviewed for what it may show."""

from __future__ import annotations

from django.contrib import admin
from django.urls import path

from chatui.web import conversations, debug, downloads, errors, imports, pages, people

urlpatterns = [
    path("", conversations.home, name="home"),
    path("c/<uuid:conversation_id>/", conversations.conversation, name="conversation"),
    path("c/<uuid:conversation_id>/turns/<uuid:turn_id>/", conversations.exchange, name="exchange"),
    path("c/<uuid:conversation_id>/rename/", conversations.rename, name="rename"),
    path("c/<uuid:conversation_id>/delete/", conversations.delete, name="delete"),
    path("c/<uuid:conversation_id>/restore/", conversations.restore, name="restore"),
    path("c/<uuid:conversation_id>/branch/", conversations.branch, name="branch"),
    path("c/<uuid:conversation_id>/messages/<uuid:message_id>/text/", conversations.message_text, name="message_text"),
    path("c/<uuid:conversation_id>/download/", downloads.download, name="download"),
    path("c/<uuid:conversation_id>/download/whole/", downloads.download_whole, name="download_whole"),
    path("c/<uuid:conversation_id>/debug/", debug.debug, name="debug"),
    path("c/<uuid:conversation_id>/debug/open/", debug.debug_open, name="debug_open"),
    path("c/<uuid:conversation_id>/debug/close/", debug.debug_close, name="debug_close"),
    path("import/", imports.import_page, name="import"),
    path("sign-in/", people.SignIn.as_view(), name="sign_in"),
    path("sign-out/", people.sign_out, name="sign_out"),
    path("setup/", people.setup, name="setup"),
    path("password/", people.Password.as_view(), name="password"),
    path("pages/<slug:name>/", pages.page, name="page"),
    path("healthz", pages.healthz, name="healthz"),
    path("admin/", admin.site.urls),
]

handler400 = errors.bad_request
handler403 = errors.permission_denied
handler404 = errors.page_not_found
handler500 = errors.server_error
