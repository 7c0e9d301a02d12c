"""The URL configuration. A test requests all URLs, and fails for one whose visibility rules nobody has reviewed."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

from chatui.admin.examining import pages as examining
from chatui.api.documentation import page as api_reference
from chatui.web import (
    access_notices,
    audit,
    conversations,
    downloads,
    errors,
    imports,
    pages,
    password_links,
    people,
    search,
    shares,
)
from chatui.web.api_keys import pages as api_key_pages
from chatui.web.content import diagrams, files, installing, uploads
from chatui.web.debug import pages as debug_pages
from chatui.web.debug import requests as debug_requests
from chatui.web.debug import turns as debug_turns
from chatui.web.language import choice
from chatui.web.lists import archive as archive_pages
from chatui.web.lists import bin as bin_pages
from chatui.web.lists import folders as folder_pages
from chatui.web.lists import temporary
from chatui.web.manage import groups as manage_groups
from chatui.web.manage import operating as manage
from chatui.web.manage import overview as manage_overview
from chatui.web.manage import people as manage_people
from chatui.web.monitoring import health, metrics
from chatui.web.ratings import export as ratings_export
from chatui.web.ratings import rate
from chatui.web.settings import pages as settings_pages
from chatui.web.sign_in import forgotten, invitations, methods, passkeys, provider_logout, second_factor, single_sign_on
from chatui.web.sign_in import sessions as own_sessions
from chatui.web.structured import answer_format as answer_format_page
from chatui.web.tools import approvals
from chatui.web.tools import choice as tools_choice
from chatui.web.usage import pages as usage_pages

urlpatterns = [
    path("", conversations.home, name="home"),
    path("conversations/", conversations.more_conversations, name="more_conversations"),
    path("c/<uuid:conversation_id>/", conversations.conversation, name="conversation"),
    path("c/<uuid:conversation_id>/exchanges/", conversations.exchanges, name="exchanges"),
    path("c/<uuid:conversation_id>/turns/<uuid:turn_id>/", conversations.exchange, name="exchange"),
    path("c/<uuid:conversation_id>/turns/<uuid:turn_id>/calls/", approvals.waiting_calls, name="waiting_calls"),
    path("c/<uuid:conversation_id>/turns/<uuid:turn_id>/files/", files.turn_files, name="turn_files"),
    path("c/<uuid:conversation_id>/calls/<uuid:approval_id>/", approvals.decide, name="decide"),
    path("c/<uuid:conversation_id>/tools/", tools_choice.tools, name="tools"),
    path("c/<uuid:conversation_id>/format/", answer_format_page.answer_format, name="answer_format"),
    path("c/<uuid:conversation_id>/instructions/", settings_pages.instructions, name="instructions"),
    path("tools/", tools_choice.new_tools, name="new_tools"),
    path("format/", answer_format_page.new_answer_format, name="new_answer_format"),
    path("c/<uuid:conversation_id>/rename/", conversations.rename, name="rename"),
    path("c/<uuid:conversation_id>/delete/", conversations.delete, name="delete"),
    path("c/<uuid:conversation_id>/restore/", conversations.restore, name="restore"),
    path("c/<uuid:conversation_id>/put/", archive_pages.put, name="put"),
    path("c/<uuid:conversation_id>/move/", folder_pages.move, name="move"),
    path("c/<uuid:conversation_id>/erase/", bin_pages.erase, name="erase"),
    path("c/<uuid:conversation_id>/temporary/<slug:what>/", temporary.temporary_chat, name="temporary"),
    path("c/<uuid:conversation_id>/branch/", conversations.branch, name="branch"),
    path("c/<uuid:conversation_id>/messages/<uuid:message_id>/text/", conversations.message_text, name="message_text"),
    path("c/<uuid:conversation_id>/messages/<uuid:message_id>/answers/", conversations.answers, name="answers"),
    path("c/<uuid:conversation_id>/messages/<uuid:message_id>/rating/", rate.rating, name="rating"),
    path("c/<uuid:conversation_id>/at/<uuid:message_id>/", search.message, name="message"),
    path("c/<uuid:conversation_id>/find/", search.within, name="find"),
    path("c/<uuid:conversation_id>/share/", shares.share, name="share"),
    path("c/<uuid:conversation_id>/share/revoke/", shares.revoke_of, name="share_revoke_of"),
    path("c/<uuid:conversation_id>/download/", downloads.download, name="download"),
    path("c/<uuid:conversation_id>/download/whole/", downloads.download_whole, name="download_whole"),
    path("c/<uuid:conversation_id>/debug/", debug_pages.debug, name="debug"),
    path("c/<uuid:conversation_id>/debug/open/", debug_pages.debug_open, name="debug_open"),
    path("c/<uuid:conversation_id>/debug/close/", debug_pages.debug_close, name="debug_close"),
    path("c/<uuid:conversation_id>/debug/compare/", debug_pages.compare, name="debug_compare"),
    path("c/<uuid:conversation_id>/debug/raw/", debug_pages.raw, name="debug_raw"),
    path("c/<uuid:conversation_id>/debug/frames/<uuid:message_id>/", debug_pages.raw_frame, name="debug_raw_frame"),
    path("c/<uuid:conversation_id>/debug/files/<uuid:file_id>/", files.debug_file, name="debug_file"),
    path("c/<uuid:conversation_id>/debug/turns/<uuid:turn_id>/prompt/", debug_turns.prompt, name="debug_prompt"),
    path("c/<uuid:conversation_id>/debug/turns/<uuid:turn_id>/prompt/file/", debug_turns.prompt_file, name="debug_prompt_file"),
    path("c/<uuid:conversation_id>/debug/turns/<uuid:turn_id>/tokens/", debug_turns.turn_tokens, name="debug_tokens"),
    path("c/<uuid:conversation_id>/debug/requests/<uuid:request_id>/approve/", debug_requests.approve, name="debug_approve"),
    path("c/<uuid:conversation_id>/debug/requests/<uuid:request_id>/decline/", debug_requests.decline, name="debug_decline"),
    path("debug/requests/", debug_requests.requests, name="debug_requests"),
    path("c/<uuid:conversation_id>/access-notices/dismiss/", access_notices.dismiss, name="access_notices_dismiss"),
    path("access-notices/", access_notices.listing, name="access_notices"),
    path("audit/", audit.audit_page, name="audit"),
    path("audit/export/<slug:kind>/", audit.audit_export, name="audit_export"),
    path("audit/warnings/<uuid:warning_id>/acknowledge/", audit.audit_acknowledge, name="audit_acknowledge"),
    path("manage/", manage_overview.overview, name="manage"),
    path("manage/people/", manage_people.people, name="manage_people"),
    path("manage/people/invite/", manage_people.invite, name="manage_invite"),
    path("manage/people/invitations/<uuid:invitation_id>/revoke/", manage_people.invitation_revoke, name="manage_invitation_revoke"),
    path("manage/people/<uuid:person_id>/", manage_people.person, name="manage_person"),
    path("manage/people/<uuid:person_id>/close/", manage_people.person_close, name="manage_person_close"),
    path("manage/people/<uuid:person_id>/<slug:what>/", manage_people.person_act, name="manage_person_act"),
    path("manage/groups/", manage_groups.groups, name="manage_groups"),
    path("manage/groups/<int:group_id>/", manage_groups.group, name="manage_group"),
    path("manage/servers/", manage.servers, name="manage_servers"),
    path("manage/servers/<str:name>/", examining.server, name="manage_server"),
    path("manage/failures/", manage.failures, name="manage_failures"),
    path("manage/looks/", manage.looks, name="manage_looks"),
    path("manage/settings/", manage.settings, name="manage_settings"),
    path("manage/system/", manage.system, name="manage_system"),
    path("ratings/", ratings_export.ratings, name="ratings"),
    path("archived/", archive_pages.archived, name="archived"),
    path("bin/", bin_pages.bin_page, name="bin"),
    path("folders/new/", folder_pages.new, name="folder_new"),
    path("folders/<uuid:folder_id>/", folder_pages.folder, name="folder"),
    path("folders/<uuid:folder_id>/delete/", folder_pages.delete, name="folder_delete"),
    path("search/", search.results, name="search"),
    path("shares/", shares.shares, name="shares"),
    path("shares/revoke/", shares.revoke_all, name="share_revoke_all"),
    path("shares/<uuid:link_id>/revoke/", shares.revoke, name="share_revoke"),
    path("s/<slug:token>/", shares.shared, name="shared"),
    path("download/", downloads.download_everything, name="download_everything"),
    path("import/", imports.import_page, name="import"),
    path("sign-in/", people.SignIn.as_view(), name="sign_in"),
    path("sign-in/with/<slug:provider>/", single_sign_on.begin, name="sign_in_with"),
    path("sign-in/with/<slug:provider>/back/", single_sign_on.back, name="sign_in_back"),
    path("sign-in/with/<slug:provider>/logout/", provider_logout.provider_logout_view, name="sign_in_logout"),
    path("sign-in/ways/", methods.ways, name="sign_in_ways"),
    path("sign-in/ways/<uuid:identity_id>/remove/", methods.remove, name="sign_in_remove"),
    path("sign-in/confirm/", methods.confirm, name="sign_in_confirm"),
    path("invitation/<uuid:invitation_id>/<slug:token>/", invitations.invitation, name="invitation"),
    path("sign-in/code/", second_factor.code, name="sign_in_code"),
    path("sign-in/second-factor/", second_factor.second_factor, name="second_factor"),
    path("sign-in/second-factor/picture.svg", second_factor.picture, name="second_factor_picture"),
    path("sign-in/second-factor/codes/", second_factor.new_codes, name="second_factor_codes"),
    path("sign-in/second-factor/remove/", second_factor.remove, name="second_factor_remove"),
    path("sign-in/passkey/", passkeys.enter, name="sign_in_passkey"),
    path("sign-in/passkey/options/<slug:what>/", passkeys.options, name="passkey_options"),
    path("sign-in/code/passkey/", passkeys.step, name="sign_in_code_passkey"),
    path("sign-in/passkeys/new/", passkeys.new, name="passkey_new"),
    path("sign-in/news/dismiss/", methods.dismiss_news, name="sign_in_news_dismiss"),
    path("sign-in/passkeys/<uuid:passkey_id>/rename/", passkeys.rename, name="passkey_rename"),
    path("sign-in/passkeys/<uuid:passkey_id>/remove/", passkeys.remove, name="passkey_remove"),
    path("sign-in/sessions/end/", own_sessions.end_others, name="sessions_end_others"),
    path("sign-in/sessions/<uuid:session_id>/end/", own_sessions.end, name="session_end"),
    path("sign-out/", people.sign_out, name="sign_out"),
    path("settings/", settings_pages.settings, name="settings"),
    path("settings/close/", settings_pages.close, name="settings_close"),
    path("setup/", people.setup, name="setup"),
    path("password/", people.Password.as_view(), name="password"),
    path("password/forgotten/", forgotten.password_forgotten, name="password_forgotten"),
    path("password/link/<uuid:link_id>/<slug:token>/", password_links.password_link, name="password_link"),
    path("password/links/dismiss/", password_links.dismiss, name="password_links_dismiss"),
    path("keys/", api_key_pages.keys, name="api_keys"),
    path("keys/<uuid:key_id>/revoke/", api_key_pages.revoke, name="api_key_revoke"),
    path("keys/api/", api_reference.reference, name="api_reference"),
    path("usage/", usage_pages.own, name="usage"),
    path("usage/everybody/", usage_pages.everybody, name="usage_everybody"),
    path("usage/everybody/file/", usage_pages.file, name="usage_file"),
    path("v1/", include("chatui.api.urls")),
    path("files/", uploads.files, name="files"),
    path("files/earlier/", uploads.files_earlier, name="files_earlier"),
    path("scim/v2/", include("chatui.web.scim.urls")),
    path("files/<uuid:file_id>/", files.file, name="file"),
    path("files/<uuid:file_id>/text/", uploads.text, name="file_text"),
    path("files/<uuid:file_id>/again/", uploads.again, name="file_again"),
    path("files/<uuid:file_id>/delete/", uploads.delete, name="file_delete"),
    path("documents/<uuid:file_id>/<int:number>/", uploads.passage, name="passage"),
    path("diagram/", diagrams.diagram, name="diagram"),
    path("language/", choice.choose_language, name="language"),
    path("pages/<slug:name>/", pages.page, name="page"),
    path("brand/<slug:digest>/<str:file>", pages.brand_file, name="brand_file"),
    path("manifest.webmanifest", installing.manifest, name="manifest"),
    path("sw.js", installing.service_worker, name="service_worker"),
    path("offline/", installing.offline, name="offline"),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("shortcuts/", pages.shortcuts, name="shortcuts"),
    path("metrics", metrics.metrics, name="metrics"),
    path("admin/", admin.site.urls),
]

handler400 = errors.bad_request
handler403 = errors.permission_denied
handler404 = errors.page_not_found
handler500 = errors.server_error
