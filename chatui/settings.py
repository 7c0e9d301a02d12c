"""Django's settings, derived from the environment variables (``chatui/env.py``). The defaults are secure."""

from __future__ import annotations

import os
import sys
from typing import Any
from urllib.parse import unquote, urlsplit

import dj_database_url
from csp.constants import NONE, SELF
from django.urls import reverse_lazy
from pydantic import ValidationError

from chatui.env import ASSETS_DIR, LOCALE_DIR, Environment
from chatui.site import languages
from chatui.site.languages import SOURCE

try:
    ENVIRONMENT = Environment.of(os.environ)
except ValidationError as error:
    _wrong = ((".".join(map(str, each["loc"])), each["msg"].removeprefix("Value error, ")) for each in error.errors())
    # Without a traceback, in which the names of the settings would be hard to find.
    sys.exit("\n".join(f"CHATUI_{name.upper()}: {problem}" for name, problem in _wrong))
except FileNotFoundError:
    sys.exit("CHATUI_DATA_DIR: the directory in which this was started was deleted: start in another one, or set CHATUI_DATA_DIR.")
_HTTPS = bool(ENVIRONMENT.origins) and all(origin.startswith("https://") for origin in ENVIRONMENT.origins)

STATIC_ROOT = ENVIRONMENT.data_dir / "static"
try:
    ENVIRONMENT.make_data_dir()
    SECRET_KEY = ENVIRONMENT.signing_key()
    STATIC_ROOT.mkdir(exist_ok=True)
except OSError as error:
    sys.exit(
        f"CHATUI_DATA_DIR: {error.filename or ENVIRONMENT.data_dir} cannot be used by this account (uid {os.geteuid()}): {error.strerror}."
    )
DEBUG = ENVIRONMENT.debug
ALLOWED_HOSTS = ENVIRONMENT.hosts
CSRF_TRUSTED_ORIGINS = ENVIRONMENT.origins

INSTALLED_APPS = [
    "django.contrib.admin.apps.SimpleAdminConfig",  # its table has references to people, even where chatui/urls.py leaves its pages out
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "channels",
    "csp",
    "chatui",
]

MIDDLEWARE = [
    "chatui.web.middleware.CountingMiddleware",
    "chatui.web.middleware.TrustedProxyMiddleware",
    "chatui.web.middleware.SecurityMiddleware",
    "servestatic.middleware.ServeStaticMiddleware",
    "chatui.web.middleware.HeadersMiddleware",
    "chatui.web.middleware.FrameOptionsMiddleware",
    "chatui.web.middleware.ContentPolicyMiddleware",
    "chatui.web.middleware.StoredSessionMiddleware",
    "chatui.web.middleware.CommonMiddleware",
    "chatui.web.middleware.CsrfMiddleware",
    "chatui.web.middleware.PersonMiddleware",
    "chatui.web.middleware.LanguageMiddleware",
    "chatui.web.middleware.HeaderSignInMiddleware",
    "chatui.web.middleware.RefusedMethodMiddleware",
]

# Django looks for its own names in MIDDLEWARE, but ours are subclasses. chatui/checks.py runs the checks that it skips.
# Of Django's administration only the table is there, and no page that would need its notes.
SILENCED_SYSTEM_CHECKS = ["security.W001", "security.W002", "security.W003", "admin.E404", "admin.E406", "admin.E409"]

ROOT_URLCONF = "chatui.urls"
ASGI_APPLICATION = "chatui.asgi.application"
TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [ASSETS_DIR / "templates"],
        "OPTIONS": {
            "loaders": [
                "chatui.site.templates.Loader",
                ("django.template.loaders.cached.Loader", ["django.template.loaders.app_directories.Loader"]),
            ],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "chatui.web.page_context.page",
            ],
            # Every template has sentences to translate, so the tags for them are always loaded.
            "builtins": ["django.templatetags.i18n", "chatui.site.templates"],
        },
    },
]

if ENVIRONMENT.database_url:
    DATABASES = {"default": dj_database_url.parse(ENVIRONMENT.database_url, engine="chatui.database")}
    # Under ASGI each request has its own thread, so their connections are limited by a pool (``chatui/database/base.py``).
    DATABASES["default"]["OPTIONS"] = {**DATABASES["default"].get("OPTIONS", {}), "pool": True}
else:
    DATABASES = {
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": str(ENVIRONMENT.data_dir / "chatui.sqlite3"),
            "OPTIONS": {
                # IMMEDIATE takes the write lock at BEGIN, so two writers queue instead of failing with "database is locked".
                "transaction_mode": "IMMEDIATE",
                "timeout": 20,
                # Deleted data is overwritten with zeros: it must not stay in the file, nor get into the next backup.
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON; PRAGMA secure_delete=ON;",
            },
            # Tests use a file, too: threads that share a database in memory block each other in ways that a file does not.
            "TEST": {"NAME": str(ENVIRONMENT.data_dir / "test.sqlite3")},
        }
    }

# Throttles count here. Django's own limit of 300 entries would let anybody flush the counts away.
CACHES: dict[str, dict[str, object]] = {"default": {"BACKEND": "chatui.limits.OwnCache", "OPTIONS": {"MAX_ENTRIES": 100_000}}}
if ENVIRONMENT.redis_url:
    # Throttles count across processes.
    CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": ENVIRONMENT.redis_url,
            "KEY_PREFIX": "chatui",
            # A Redis that accepts connections but does not answer must fail, not block every page for ever.
            "OPTIONS": {"socket_connect_timeout": 2, "socket_timeout": 2},
        }
    }

AUTH_USER_MODEL = "chatui.User"
AUTHENTICATION_BACKENDS = ["chatui.accounts.session_store.PersonBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "chatui.accounts.passwords.LengthValidator"},
    {"NAME": "chatui.accounts.passwords.PredictablePasswordValidator"},
]
LOGIN_URL = reverse_lazy("sign_in")
LOGIN_REDIRECT_URL = reverse_lazy("home")
LOGOUT_REDIRECT_URL = reverse_lazy("sign_in")

# The language of the code. The language of a page is decided for each request (chatui/web/middleware.py).
LANGUAGE_CODE = SOURCE
LANGUAGES = list(languages.LANGUAGES.items())
LOCALE_PATHS = [LOCALE_DIR]
LANGUAGE_COOKIE_NAME = "__Host-language" if _HTTPS else "chatui_language"
TIME_ZONE = "UTC"
USE_I18N = True
FORMAT_MODULE_PATH = "chatui.site.formats"
USE_TZ = True

STATIC_URL = "static/"
STATICFILES_DIRS = [ASSETS_DIR / "static"]
# Pages name files only with their hash. For each served file, headers and compressed versions are held in memory.
SERVESTATIC_KEEP_ONLY_HASHED_FILES = True
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "chatui.site.static_files.HashedStaticStorage"},
}

# Every page with a model's text has these headers: the sanitizer is the first barrier, the browser's policy the second.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF],
        "font-src": [SELF],
        "connect-src": [SELF],
        "manifest-src": [SELF],
        "worker-src": [SELF],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "object-src": [NONE],
        "require-trusted-types-for": ["'script'"],
        "trusted-types": ["chatui"],
    }
}
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
SECURE_SSL_REDIRECT = _HTTPS
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
SECURE_HSTS_SECONDS = 63_072_000 if _HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = _HTTPS
X_FRAME_OPTIONS = "DENY"
SESSION_ENGINE = "chatui.accounts.session_store"
SESSION_COOKIE_NAME = "__Host-session" if _HTTPS else "chatui_session"
SESSION_COOKIE_SECURE = _HTTPS
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_AGE = 14 * 24 * 3600
CSRF_COOKIE_NAME = "__Host-csrf" if _HTTPS else "chatui_csrf"
CSRF_COOKIE_SECURE = _HTTPS
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "chatui.web.guards.csrf_failure"
_MAIL = urlsplit(ENVIRONMENT.mail_url)
EMAIL_HOST = _MAIL.hostname or "localhost"
EMAIL_USE_SSL = _MAIL.scheme == "smtps"
EMAIL_USE_TLS = _MAIL.scheme == "smtp+starttls"
EMAIL_PORT = _MAIL.port or (465 if EMAIL_USE_SSL else 587 if EMAIL_USE_TLS else 25)
EMAIL_HOST_USER = unquote(_MAIL.username or "")
EMAIL_HOST_PASSWORD = unquote(_MAIL.password or "")
EMAIL_TIMEOUT = 10
DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024
FILE_UPLOAD_HANDLERS = ["chatui.transfer.upload.BoundedUploadHandler"]

DEFAULT_EXCEPTION_REPORTER = "chatui.observability.error_reports.SafeExceptionReporter"
DEFAULT_EXCEPTION_REPORTER_FILTER = "chatui.observability.error_reports.HideEverythingFilter"
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        # An exception's message may quote hidden text, so only the locations of its traceback are logged.
        "text": {"()": "chatui.observability.error_reports.SafeTextFormatter", "format": "%(asctime)s %(levelname)s %(name)s: %(message)s"},
        "json": {"()": "chatui.observability.error_reports.JsonFormatter"},
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": ENVIRONMENT.log_format}},
    # Other packages log what they send and receive at DEBUG and INFO, so only their warnings and errors are logged.
    "root": {"handlers": ["console"], "level": "ERROR" if ENVIRONMENT.log_level == "ERROR" else "WARNING"},
    "loggers": {
        "chatui": {"level": ENVIRONMENT.log_level},
        "renderer": {"level": ENVIRONMENT.log_level},
        # "django" keeps Django's own configuration: without DEBUG lines, which have the parameters of statements.
        "django.channels.server": {"level": "WARNING"},
        # A wrong host name is a line of ours (``chatui/web/errors.py``); Django's has a traceback, and any scanner fills the log with it.
        "django.security.DisallowedHost": {"level": "CRITICAL"},
        # Its lines have headers, with keys and the ids of sessions.
        "httpcore": {"level": "WARNING"},
    },
}
