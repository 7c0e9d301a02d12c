"""The ``CHATUI_…`` environment variables, each with its type, default and meaning."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from django.conf import settings
from pydantic import BaseModel, ConfigDict, Field, IPvAnyNetwork, ValidationInfo, field_validator

BASE_DIR = Path(__file__).resolve().parent.parent
"""The directory from which this package is imported: the checkout, or that of installed packages."""
_IN_PACKAGE = BASE_DIR / "chatui" / "assets"
IS_INSTALLED = _IN_PACKAGE.is_dir()
"""Whether this is the installed package, which has templates and static files inside, and not a checkout."""
ASSETS_DIR = _IN_PACKAGE if IS_INSTALLED else BASE_DIR
LOCALE_DIR = BASE_DIR / "chatui" / "locale"

PREFIX = "chatui_"
LimitsByGroup = dict[str, Annotated[int, Field(gt=0)]]
GroupsByTool = dict[str, tuple[str, ...]]

MIN_KEY_CHARS = 32
"""The minimum length of a key that encrypts stored data."""


def _is_address(address: str, schemes: tuple[str, ...], *, needs_path: bool = False) -> bool:
    try:
        parts = urlsplit(address)
        return parts.scheme in schemes and parts.port != 0 and (len(parts.path) > 1 or not needs_path)
    except ValueError:  # the port is not a number, such as part of a password
        return False


_RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "file_key": (lambda key: len(key) >= MIN_KEY_CHARS, f"a key must have at least {MIN_KEY_CHARS} characters"),
    "mail_url": (
        lambda url: _is_address(url, ("smtp", "smtp+starttls", "smtps")) and bool(urlsplit(url).hostname),
        "must look like smtp+starttls://user:password@host:587; write / in a password as %2F",
    ),
    "database_url": (
        lambda url: _is_address(url, ("postgres", "postgresql"), needs_path=True),
        "must look like postgres://user:password@host:5432/name; write / in a password as %2F",
    ),
    "redis_url": (
        lambda url: _is_address(url, ("redis", "rediss", "unix"), needs_path=url.startswith("unix:")),
        "must look like redis://host:6379/0",
    ),
    "tool_facts": (
        lambda found: all(facts == ("neither",) or (facts and set(facts) <= {"private", "outside"}) for facts in found.values()),
        "must give private, outside, private|outside or neither for each tool",
    ),
}
"""Validation rules of settings that are not empty: predicate and message. Messages never quote the value."""


class Environment(BaseModel):
    """The settings, one attribute for each variable. A test checks ``docs/settings.md`` against this list."""

    # Errors do not quote values, because some are secrets, and errors are logged.
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, hide_input_in_errors=True)

    data_dir: Path = Field(
        # Asked for only where it is needed: the directory may be gone.
        default_factory=lambda: (Path.cwd() if IS_INSTALLED else BASE_DIR) / "var",
        description="Directory for the database, the secret key and collected static files.",
    )
    secret_key: str = Field("", description="Signs sessions. Empty: generated once and stored in the data directory.")
    sealing_key: str = Field(
        "", description="Encrypts reasoning for programs, and keys of model servers. Empty: the secret key.", repr=False
    )
    sealing_keys_before: list[str] = Field([], description="Earlier sealing keys, for decryption only.", repr=False)
    file_key: str = Field("", description="Encrypts stored files. Empty: they are not encrypted.", repr=False)
    file_keys_before: list[str] = Field([], description="Earlier file keys, for decryption only.", repr=False)
    debug: bool = Field(False, description="Django's debug mode. Never on a machine that others reach.")
    hosts: list[str] = Field(
        ["127.0.0.1", "localhost", "[::1]"],
        description="Host names of the product, separated by commas. Not set: also the address of --host.",
    )
    origins: list[str] = Field(
        [], description="Exact public origins, such as https://chat.example.org. Empty: the origin of the request's own host."
    )
    trusted_proxies: list[IPvAnyNetwork] = Field(
        [], description="Addresses or networks (10.0.0.0/8) of reverse proxies whose X-Forwarded-… headers are trusted."
    )
    sign_in_file: Path | None = Field(
        None, description="TOML file with the providers of single sign-on, and who may use passwords. Empty: passwords for everybody."
    )
    mail_url: str = Field(
        "",
        description="Server for outgoing mail: smtp+starttls://user:password@host:587, smtps://… or, on the same machine, smtp://…. "
        "Empty: no mail, and no page for forgotten passwords.",
        repr=False,
    )
    mail_from: str = Field("", description="Address from which mail is sent.")
    second_factor_groups: list[str] = Field(
        [], description="Groups whose members need a second factor to sign in with a password, separated by commas."
    )
    closed_accounts: Literal["keep", "erase", "hand-over"] = Field(
        "keep",
        description="What purge does with accounts that were closed some days ago: keep, erase, or hand-over to the heir, then erase.",
    )
    closed_account_days: int = Field(30, ge=0, le=36_500, description="For how many days a closed account can be reopened before that.")
    close_own_account: bool = Field(False, description="Whether people may close their own account, on their settings page.")
    key_rest_days: int = Field(
        30, ge=0, le=36_500, description="Days without a sign-in after which keys of an account that only a provider opens rest. 0: never."
    )
    database_url: str = Field("", description="postgres://user:password@host/name. Empty: SQLite in the data directory.")
    redis_url: str = Field("", description="redis://host:6379/0, needed with more than one process. Empty: in memory.")
    pages_dir: Path = Field(
        BASE_DIR / "chatui" / "pages", description="Directory with welcome.md, examples.md, help.md, terms.md and announcement.md."
    )
    name: str = Field("chatui", description="Name of the product on its pages.")
    language: Literal["en", "de", "zh-hans", "ko"] = Field(
        "en", description="Language of the pages for people who have chosen none and whose browser requests no available one."
    )
    mark: Path | None = Field(None, description="SVG or PNG file of up to 64 KB, shown instead of the product's mark.")
    accent: str = Field("", description="Accent colour, such as #0b6355. It is adjusted as far as necessary to be readable in both themes.")
    backend_url: str = Field("", description="Address of the model server. Empty: the built-in demo, which needs no model.")
    backend_key: str = Field("", description="Key for the model server.", repr=False)
    backend_key_file: Path | None = Field(None, description="File that holds the key for the model server.")
    backend_kind: str = Field("", description="Wire format: chat, responses, or harmony (token ids). Empty: detected from the server.")
    backend_model: str = Field("", description="Model name. Empty: the first one that the server lists.")
    backend_query: str = Field("", description="Query of every request to the model server, such as api-version=2024-10-21.")
    backend_key_header: str = Field(
        "", description="Header that the key is sent in, such as api-key. Empty: Authorization, as a bearer token."
    )
    backend_ca_file: Path | None = Field(None, description="PEM file with the only authorities that are trusted for the model server.")
    backend_proxy: str = Field(
        "",
        description="Address of the HTTP proxy through which the model server is reached: http://proxy:3128, or with user:password@. "
        "Empty: none.",
    )
    backend_sampling: str = Field(
        "", description="Sampling parameters of answers, such as temperature=0.7,top_p=0.9. Empty: the server decides."
    )
    backend_first_token_seconds: float = Field(300.0, gt=0, description="Longest wait for the first token of an answer.")
    backend_idle_seconds: float = Field(60.0, gt=0, description="Longest silence in the middle of an answer.")
    backend_overall_seconds: float = Field(1800.0, gt=0, description="Longest time for one answer.")
    backend_context_tokens: int = Field(
        0,
        ge=0,
        le=10_000_000,
        description="How many tokens the model can read at once, including its answer. 0: as the model server reports.",
    )
    backend_summaries: Literal["none", "built-in", "server", "model"] = Field(
        "built-in",
        description="What says which kind of work a line of a reasoning summary names: built-in code, the server's own headings, the model "
        "in further requests, or nothing.",
    )
    summary_groups: list[str] = Field(
        [], description="Groups whose members get such summaries, separated by commas. Empty: everybody does."
    )
    titles: bool = Field(
        True,
        description="Whether a model is asked for the title of a new conversation, after its first answer. The demo is never asked.",
    )
    title_model: str = Field(
        "", description="Which model server, or model server/model, is asked for titles. Empty: the one that answered."
    )
    backends_file: Path | None = Field(None, description="TOML file with several model servers, instead of the variables for one.")
    max_message_chars: int = Field(64_000, gt=0, description="Longest message that a person may send, in characters.")
    max_running_answers: int = Field(4, gt=0, description="How many answers may be written for one person at a time.")
    api_at_once: int = Field(
        4, gt=0, description="How many answers may be written at a time in one process for one person's programs. Further requests wait."
    )
    group_api_at_once: LimitsByGroup = Field(
        {}, description="The same number for the programs of a group's members, such as evaluations=20. The largest counts."
    )
    api_waiting: int = Field(100, ge=0, description="How many requests of one person's programs may wait in one process for their answers.")
    api_wait_seconds: float = Field(120.0, gt=0, description="How long a program's request may wait until its answer begins.")
    max_answers_at_once: int = Field(
        200,
        gt=0,
        description="How many answers may be written at a time in one process. The others wait, and people see their place in the queue.",
    )
    group_answers_at_once: LimitsByGroup = Field(
        {},
        description="How many answers the members of a group may have written at a time in one process, such as students=20,staff=100.",
    )
    drain_seconds: float = Field(20.0, ge=0, description="How long running answers may continue after the process receives SIGTERM.")
    max_answer_tokens: int = Field(0, ge=0, description="Longest answer in tokens. 0: the model server decides.")
    demo_tokens_per_second: float = Field(60.0, ge=0, description="Speed of the demo. 0: as fast as possible.")
    instructions: str = Field("", description="Developer instructions sent with each request; hidden from people.", repr=False)
    group_instructions_file: Path | None = Field(
        None, description="TOML file with developer instructions for members of groups, sent after those for everybody; hidden from people."
    )
    debug_open_minutes: int = Field(240, gt=0, le=1440, description="Longest time that a debug view stays open before it closes by itself.")
    debug_approval: bool = Field(False, description="Whether a second permitted person has to approve before a debug view opens.")
    four_eyes_days: int = Field(
        30,
        ge=0,
        description="For how many days people cannot approve for an account they created or changed, nor it for them. 0: no such rule.",
    )
    alert_attempts: int = Field(
        5, ge=0, description="Refused attempts at hidden channels by one person within 24 hours before staff are warned. 0: never."
    )
    tell_owners: bool = Field(False, description="Whether people are told that staff opened the hidden channels of their conversation.")
    tools: GroupsByTool = Field(
        {},
        description="Tools that a model may call, separated by commas. wiki_search=staff|research: only for these groups.",
    )
    tools_without_approval: list[str] = Field(
        [],
        description="Harmless tools among these, for which people are not asked before each call. All others need approval.",
    )
    tool_facts: GroupsByTool = Field(
        {},
        description="What tools do, overriding their authors: wiki_search=private,send_mail=private|outside,calculate=neither.",
    )
    tool_combinations: Literal["one-side", "any"] = Field(
        "one-side", description="Whether tools that read private data are offered together with tools that send data out: one-side or any."
    )
    tool_approval_seconds: float = Field(
        600.0, gt=0, le=86_400, description="How long a call waits for the person's decision. Then it is declined."
    )
    tools_file: Path | None = Field(
        None, description="TOML file with servers whose tools can be offered: OpenAPI documents and MCP servers."
    )
    tools_private_hosts: list[str] = Field(
        [],
        description="Hosts in private networks that search engines and tool servers of Administration may have, such as tools.lan:8000.",
    )
    tool_seconds: float = Field(60.0, gt=0, description="Longest time for one call of a tool, whatever the tool or the model asks for.")
    tool_turn_seconds: float = Field(300.0, gt=0, description="Longest time for all calls of one answer together.")
    tool_calls: int = Field(25, gt=0, description="How many calls a model may make for one answer.")
    tool_reply_chars: int = Field(16_000, gt=0, description="How much of a tool's reply the model receives, in characters.")
    search: Literal["none", "searxng", "brave", "tavily", "exa"] = Field("none", description="The search engine that the browser uses.")
    search_url: str = Field("", description="Its address: required for SearXNG, otherwise only for a proxy of yours. It may be private.")
    search_key: str = Field("", description="Its key. SearXNG needs none.", repr=False)
    browser_allow_hosts: list[str] = Field(
        [], description="The only hosts whose pages the browser opens, with their subdomains. Empty: all that are public."
    )
    browser_deny_hosts: list[str] = Field([], description="Hosts whose pages the browser never opens, with their subdomains.")
    python_program: str = Field(
        "", description="Interpreter that the tool python uses. Empty: the one with packages in the data directory, or else the system's."
    )
    python_memory_mb: int = Field(1024, ge=128, le=65_536, description="How much memory an interpreter may have, in MiB.")
    python_data_mb: int = Field(64, ge=1, le=4096, description="How much /mnt/data of a conversation may hold, in MiB of memory.")
    python_interpreters: int = Field(8, gt=0, description="How many interpreters there may be at a time in one process.")
    python_service_url: str = Field("", description="Address of a service that runs Python, instead of the sandbox on this machine.")
    python_service_key: str = Field("", description="Key for that service.", repr=False)
    file_mb: int = Field(20, ge=1, le=100, description="Largest file that is stored, in MiB.")
    file_scanner: str = Field(
        "",
        description="Program that receives each uploaded file on standard input: exit code 0 clean, 1 infected. Empty: none.",
    )
    files_of_answer: int = Field(10, ge=0, le=50, description="How many files made by tools are stored per answer. 0: none.")
    files_of_person_mb: int = Field(200, ge=0, le=1_000_000, description="How much all files of a person may take, in MiB.")
    bin_days: int = Field(
        30, ge=0, le=36_500, description="For how many days deleted conversations can be restored, before purge removes them."
    )
    hidden_days: int = Field(
        -1,
        ge=-1,
        le=36_500,
        description="For how many days hidden text is stored. 0: reasoning is deleted when its turn ends. -1: as long as its conversation.",
    )
    purge_daily: bool = Field(True, description="Whether serve purges once a day by itself. Off: a timer or cron runs the command purge.")
    share_max_days: int = Field(
        30, ge=-1, le=36_500, description="Longest life of a share link in days. 0: no sharing. -1: links need not expire."
    )
    share_audience: Literal["anyone", "signed-in"] = Field("anyone", description="Who can read a share link: anyone, or signed-in people.")
    share_groups: list[str] = Field(
        [], description="Groups whose members may create share links, separated by commas. Empty: everybody may."
    )
    service_worker: bool = Field(
        True, description="Whether browsers keep static files and an offline page. Off: browsers that did so delete them."
    )
    currency: str = Field("", max_length=8, description="Currency of the prices of models, such as EUR. Empty: no costs are shown.")
    usage_contact: str = Field("", description="Sentence for people who have reached a usage limit, such as whom to ask for more.")
    api: bool = Field(True, description="Whether programs can use the API at /v1, with the keys that people create.")
    api_body_mb: int = Field(16, ge=1, le=100, description="Largest body of a program's request, in MiB. Pictures in it are dropped.")
    api_origins: list[str] = Field(
        [],
        description="Origins of pages that may use the API from a browser, with a key, such as https://app.example.org. Empty: none.",
    )
    metrics_token: str = Field("", description="Bearer token for /metrics. Empty: there are no metrics.", repr=False)
    traces_url: str = Field(
        "", description="Where traces are sent by OTLP over HTTP, such as http://127.0.0.1:4318/v1/traces. Empty: there are none."
    )
    traces_header: str = Field("", description="Header for that collector, such as Authorization: Bearer KEY.", repr=False)
    traces_share: float = Field(1.0, ge=0, le=1, description="Which part of the traces is sent, from 0 to 1.")
    traces_to_model_servers: bool = Field(False, description="Whether requests to model servers name their trace (the header traceparent).")
    log_format: Literal["text", "json"] = Field("text", description="Log lines for people, or JSON objects for a program: text or json.")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field("INFO", description="Lowest level of the product's own log lines.")

    @field_validator(
        *("hosts", "origins", "api_origins", "trusted_proxies", "browser_allow_hosts", "browser_deny_hosts", "tools_without_approval"),
        "tools_private_hosts",
        *("second_factor_groups", "share_groups", "summary_groups", "sealing_keys_before", "file_keys_before"),
        mode="before",
    )
    @classmethod
    def _split(cls, value: Any) -> Any:
        if isinstance(value, str):
            return [part.strip() for part in value.split(",") if part.strip()]
        return value

    @field_validator("second_factor_groups", "share_groups", "summary_groups", mode="before")
    @classmethod
    def _names_a_group(cls, value: Any) -> Any:
        # A comma alone would be read as no groups, and that means everybody.
        if isinstance(value, str) and value.strip() and not value.replace(",", "").strip():
            raise ValueError("must be names of groups, such as staff,research")
        return value

    @field_validator("group_answers_at_once", "group_api_at_once", mode="before")
    @classmethod
    def _split_limits(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        pairs = [part.rpartition("=") for part in value.split(",") if part.strip()]
        if not all(name.strip() for name, _, _ in pairs):
            raise ValueError("must be names of groups with numbers, such as students=20,staff=100")
        return {name.strip(): number.strip() for name, _, number in pairs}

    @field_validator("tools", "tool_facts", mode="before")
    @classmethod
    def _split_tools(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        pairs = [part.partition("=") for part in value.split(",") if part.strip()]
        named = {name.strip(): tuple(group.strip() for group in groups.split("|")) if mark else () for name, mark, groups in pairs}
        if not all(named) or not all(group for groups in named.values() for group in groups):
            raise ValueError("must be names of tools, such as current_time,wiki_search=staff|research")
        return named

    @field_validator(*_RULES)
    @classmethod
    def _is_right(cls, value: Any, info: ValidationInfo) -> Any:
        is_right, otherwise = _RULES[str(info.field_name)]
        if value and not is_right(value):
            raise ValueError(otherwise)
        return value

    @classmethod
    def of(cls, variables: Mapping[str, str]) -> Self:
        """The settings in these variables. Names may be in small letters; variables that are no settings are ignored.

        Raises:
            ValidationError: a value is not valid. The message names the setting and does not quote the value.
        """
        # The package pydantic-settings does the same, and takes 2 MB for files and services that it can also read.
        named = {name.lower().removeprefix(PREFIX): value for name, value in variables.items() if name.lower().startswith(PREFIX)}
        return cls.model_validate({name: value for name, value in named.items() if name in cls.model_fields})

    def key(self) -> str:
        """The model server's key: from the environment, else from its file, else empty."""
        if self.backend_key or self.backend_key_file is None:
            return self.backend_key
        return self.backend_key_file.read_text(encoding="utf-8").strip()

    @property
    def keeps_reasoning(self) -> bool:
        """Whether reasoning stays stored after its turn. If not, neither does text that may repeat it."""
        return self.hidden_days != 0

    def make_data_dir(self) -> None:
        """Create the data directory, readable by its owner alone: the database is not encrypted. An existing one is left unchanged."""
        self.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)

    def signing_key(self) -> str:
        """The secret key: from the environment, else from the data directory, where it is created on first use (mode 600)."""
        if self.secret_key:
            return self.secret_key
        path = self.data_dir / "secret_key"
        if not path.exists():
            self.make_data_dir()
            # Whole or not at all: the disk may be full, and another process that starts beside this one may read it.
            made = path.with_name(f"secret_key.{secrets.token_hex(8)}")
            try:
                with made.open("x", encoding="utf-8") as file:
                    made.chmod(0o600)
                    file.write(secrets.token_urlsafe(50))
                _take_name(made, path)
            finally:
                made.unlink(missing_ok=True)
        return path.read_text(encoding="utf-8").strip()


def _take_name(made: Path, path: Path) -> None:
    """Give a file its name, unless another process was first: then its file stays."""
    try:
        path.hardlink_to(made)
    except FileExistsError:
        pass
    except OSError:  # a file system without such links
        made.rename(path)


def environment() -> Environment:
    """The environment variables, as the settings read them when the process started."""
    try:
        found: Environment = _known_settings["ENVIRONMENT"]
    except KeyError:
        found = settings.ENVIRONMENT
    return found


_known_settings: dict[str, Any] = object.__getattribute__(settings, "__dict__")
"""Where Django keeps settings that were asked for. Its lazy object looks up attributes of the value each time, which is slow for pydantic
models, and a turn does this about twenty times."""
