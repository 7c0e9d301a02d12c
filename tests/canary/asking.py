"""Sends requests as one of the people of the matrix, and rolls back their changes."""

import contextlib
from collections.abc import Iterator, Mapping
from datetime import timedelta
from http.cookies import SimpleCookie
from typing import Any
from uuid import uuid4

import httpx
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.core.cache import cache
from django.db import transaction
from django.http import HttpResponseBase
from django.test import Client
from django.utils import timezone

from chatui.accounts import api_keys, password_links
from chatui.audit_log.record import Visitor, record
from chatui.models.assistants import Assistant
from chatui.models.audit import AttemptWarning
from chatui.models.collections import Collection
from chatui.models.conversation import Conversation, Folder
from chatui.models.debug_requests import DebugRequest
from chatui.models.files import StoredFile
from chatui.models.message import Message
from chatui.models.model_servers import StoredBackend
from chatui.models.programs import ProgramAnswer
from chatui.models.saved_prompts import SavedPrompt
from chatui.models.tools import ToolApproval
from chatui.models.usage import ModelPrice, UsageLimit
from chatui.models.user import User
from chatui.permissions import debug_requests
from chatui.pictures import only_pixels
from chatui.store import assistants, collections, passages
from chatui.store import files as store_files
from chatui.store.files import FileDestination, NewFile
from renderer.frames import Header
from tests.canary.conftest import World
from tests.canary.planting import append
from tests.canary.reviewed import HOLDER
from tests.chatui.conftest import make_person
from tests.chatui.store.pictures import png
from tests.chatui.store.uploads import uploaded
from tests.support.canary import Browser, Visited, Watch
from tests.support.people import invite

ADDRESS = "192.0.2.7"


def client_for(person: User | None, **options: Any) -> Client:
    """A browser of that person; a server error is a response, as it is for people."""
    client = Client(raise_request_exception=False, REMOTE_ADDR=ADDRESS, **options)
    if person is not None:
        client.force_login(person)
    return client


def client_of(name: str, world: World, **options: Any) -> Client:
    """A browser of one of the kinds of people; a share link's holder has opened the link and has its cookies."""
    if name != HOLDER:
        return client_for(world.people["both" if name == "opened" else name], **options)
    path = f"/s/{world.planted.link.token}/"
    headers = {**options.pop("headers", {}), "referer": f"http://testserver{path}", "authorization": f"Bearer {world.planted.link.token}"}
    client = client_for(None, headers=headers, **options)
    assert client.get(path).status_code == 200, "the premise: the link works"
    return client


def open_view(world: World) -> None:
    """Open the debug view as the permitted person."""
    debug_requests.open_debug_view(Visitor(world.people["both"], ADDRESS, "page"), world.planted.conversation.pk, "a fault was reported")


def places(world: World) -> dict[str, str]:
    """The values of the reviewed table's placeholders."""
    owner, both = world.people["owner"], world.people["both"]
    assert owner is not None and both is not None
    bystander = make_person("bystander")
    group = Group.objects.create(name="readers")
    event = record("planted", Visitor(owner, ADDRESS, "page"))
    warning = AttemptWarning.objects.create(person_name="bela", day=timezone.now().date(), attempts=7)
    second = Conversation.objects.create(owner=owner, title="A second title")
    asker = make_person("asker", "view_hidden_channels", "view_any_conversation", staff=True)
    searched, elsewhere = (
        DebugRequest.objects.create(conversation=row, person=asker, reason="a fault was seen", minutes=15)
        for row in (world.planted.conversation, second)
    )
    password = password_links.create(Visitor(None, ADDRESS, "shell"), bystander, voids_password=False).split("/")
    call = ToolApproval.objects.create(
        turn=world.planted.turn,
        call_id="decided",
        tool="mail",
        title="Mail",
        arguments='{"to": "a visible address"}',
        lapses_at=timezone.now(),
    )
    inviter = make_person("inviter", "view_user", "add_user", staff=True)
    invited = invite(inviter).split("/")
    viewers = Group.objects.create(name="viewers")
    viewers.permissions.set(Permission.objects.filter(codename="view_hidden_channels"))
    viewer = make_person("seer", "view_user", "add_user", "view_hidden_channels", staff=True)
    beyond = invite(viewer, viewers).split("/")
    foreign = append(second, None, Header("user"), "Elsewhere")
    files = [
        store_files.save(FileDestination(row.owner_id, row.pk), NewFile.of("a visible file.txt", b"visible"))
        for row in (world.planted.conversation, second)
    ]
    deleted_file = store_files.save(FileDestination(owner.pk, world.deleted.conversation.pk), NewFile.of("in the bin.txt", b"visible"))
    waiting_file = uploaded(owner, "a visible waiting file.txt", "words of its own")
    passages.index(waiting_file.content_id)
    sent_file = uploaded(owner, "a visible sent file.txt", "words of another")
    deleted_document = uploaded(owner, "in the bin, too.txt", "more words")
    for file, place in ((sent_file, world.planted.conversation), (deleted_document, world.deleted.conversation)):
        StoredFile.objects.filter(pk=file.pk).update(conversation=place)
    key = api_keys.create(Visitor(owner, ADDRESS, "shell"), api_keys.NewKeyOptions(name="A script", for_responses=True, for_chat=True))
    return {
        "api_key": key.id,
        "api_answer": str(ProgramAnswer.objects.create(turn=world.planted.turn).pk),
        "file": str(files[0].pk),
        "file_elsewhere": str(files[1].pk),
        "deleted_file": str(deleted_file.pk),
        "waiting_file": str(waiting_file.pk),
        "sent_file": str(sent_file.pk),
        "deleted_document": str(deleted_document.pk),
        "folder": str(Folder.objects.create(owner=owner, name="A visible folder", instructions="Be brief.").pk),
        "foreign_folder": str(Folder.objects.create(owner=bystander, name="Somebody's folder").pk),
        **_assistants(world, bystander),
        **_prompts(owner, bystander),
        **_collections(world, bystander),
        "conversation": str(world.planted.conversation.pk),
        "deleted": str(world.deleted.conversation.pk),
        "temporary": str(Conversation.objects.create(owner=owner, temporary_until=timezone.now() + timedelta(hours=1)).pk),
        "nothing": str(uuid4()),
        "turn": str(world.planted.turn.pk),
        "call": str(call.pk),
        "failed": str(world.planted.failed.pk),
        "other_turn": str(world.deleted.turn.pk),
        "question": str(world.planted.question.pk),
        "other_question": str(world.planted.other_question.pk),
        "final": str(world.planted.final.pk),
        "hidden": str(world.planted.hidden[4].pk),
        "foreign_message": str(foreign.pk),
        "owner": str(owner.pk),
        "more": str(both.pk),
        "bystander": str(bystander.pk),
        "group": str(group.pk),
        "server": StoredBackend.objects.create(name="planted", url="http://127.0.0.1:9", is_enabled=False).name,
        "limit": str(UsageLimit.objects.create(group=group, day_turns=1000).pk),
        "price": str(ModelPrice.objects.create(model="planted", since=timezone.now().date(), input_price=1, output_price=2).pk),
        "event": str(event.pk),
        "asked": str(searched.pk),
        "asked_elsewhere": str(elsewhere.pk),
        "warning": str(warning.pk),
        "link": str(world.planted.link.pk),
        "deleted_link": str(world.deleted.link.pk),
        "invitation": invited[2],
        "invitation_token": invited[3],
        "invitation_beyond": beyond[2],
        "password_link": password[3],
        "password_token": password[4],
        "token": world.planted.link.token,
        "deleted_token": world.deleted.link.token,
        "message_type": str(ContentType.objects.get_for_model(Message).pk),
        "client_id": str(uuid4()),
    }


def _assistants(world: World, bystander: User) -> dict[str, str]:
    """Assistants with pictures of the owner, one of them deleted, and of somebody else, who offers one, and a prompt, to everybody of the
    world. The conversation began with an older version of the owner's first; another with the offered one, before it had another picture.
    Instructions of somebody else are hidden from all of them, and documents of the offered one, which are offered to nobody."""
    conversation, made = world.planted.conversation, {"name": "A visible assistant", "instructions": "Be brief."}
    picture = only_pixels(png())
    makers = (conversation.owner, conversation.owner, bystander)
    own, deleted, foreign = (assistants.create(person, made, picture=picture) for person in makers)
    assistants.change(own.versions.get(), {**made, "instructions": "Be kind."})
    Assistant.objects.filter(pk=deleted.pk).update(deleted_at=timezone.now())
    Conversation.objects.filter(pk=conversation.pk).update(began_with_assistant=True, assistant_version=own.versions.get(number=2))
    offerer = make_person("offerer", "offer_assistants", staff=True)
    hidden = world.canary.plant("documents of an offered assistant")
    files = Collection.objects.create(owner=offerer, name=hidden[:50])
    document = uploaded(offerer, f"{hidden[:50]}.txt", hidden)
    passages.index(document.content_id)
    collections.put(files, document)
    offered = assistants.create(
        offerer, {**made, "instructions": world.canary.plant("instructions of an offered assistant")}, {files.pk}, picture
    )
    assistants.change(foreign.versions.get(), {**made, "instructions": world.canary.plant("instructions of somebody's assistant")})
    group = Group.objects.create(name="users of an assistant")
    group.user_set.add(*filter(None, world.people.values()))
    offered.groups.add(group)
    prompt = SavedPrompt.objects.create(owner=offerer, group=group, name="An offered prompt", text="Be brief.")
    assisted = Conversation.objects.create(
        owner=conversation.owner, title="With an assistant", began_with_assistant=True, assistant_version=offered.versions.get()
    )
    former = offered.pictures.get()
    newer = {**made, "instructions": world.canary.plant("newer instructions of an offered assistant")}
    assistants.change(offered.versions.get(), newer, picture=only_pixels(png(2)))
    pictures = {"": own.pictures.get(), "deleted_": deleted.pictures.get(), "foreign_": foreign.pictures.get(), "former_": former}
    pictures["offered_"] = offered.pictures.exclude(pk=former.pk).get()
    return {
        **{f"{which}picture": str(row.pk) for which, row in pictures.items()},
        "assistant": str(own.pk),
        "deleted_assistant": str(deleted.pk),
        "foreign_assistant": str(foreign.pk),
        "offered_assistant": str(offered.pk),
        "offered_prompt": str(prompt.pk),
        "assisted": str(assisted.pk),
    }


def _collections(world: World, bystander: User) -> dict[str, str]:
    """Collections of the owner, one of them deleted and one of a folder; of somebody else, whose document is hidden from all; and one that
    is offered to everybody of the world. The owner's conversation chose all of them, whether or not they may be asked."""
    conversation = world.planted.conversation
    found: dict[str, str] = {}
    owner, offerer = conversation.owner, make_person("librarian", "offer_collections", staff=True)
    hidden = world.canary.plant("document of somebody's collection")
    for key, person, text in (
        ("collection", owner, "visible words"),
        ("deleted_collection", owner, "more visible words"),
        ("foreign_collection", bystander, hidden),
        ("offered_collection", offerer, "words that are offered"),
    ):
        row = Collection.objects.create(owner=person, name=hidden[:50] if person == bystander else "A visible collection")
        file = uploaded(person, f"{hidden[:50] if person == bystander else key}.txt", text)
        passages.index(file.content_id)
        collections.put(row, file)
        conversation.collections.add(row)
        found |= {key: str(row.pk), f"document_of_{key}": str(file.pk)}
    Collection.objects.filter(pk=found["deleted_collection"]).update(deleted_at=timezone.now())
    Conversation.objects.filter(pk=conversation.pk).update(has_collections=True)
    group = Group.objects.create(name="readers of a collection")
    group.user_set.add(*filter(None, world.people.values()))
    Collection.objects.get(pk=found["offered_collection"]).groups.add(group)
    return found


def _prompts(owner: User, bystander: User) -> dict[str, str]:
    """Saved prompts of the owner, one of them deleted, and of somebody else."""
    made = {"name": "A visible prompt", "text": "Shorten {{text}}"}
    own, deleted, foreign = (SavedPrompt.objects.create(owner=person, **made) for person in (owner, owner, bystander))
    SavedPrompt.objects.filter(pk=deleted.pk).update(deleted_at=timezone.now())
    return {"prompt": str(own.pk), "deleted_prompt": str(deleted.pk), "foreign_prompt": str(foreign.pk)}


def filled(value: Any, values: Mapping[str, str]) -> Any:
    """``value`` with its placeholders replaced, inside dictionaries too. Raises LookupError for one that ``places`` does not have."""
    if isinstance(value, str):
        try:
            return value.format_map(values)
        except KeyError as error:
            raise LookupError(
                f"Nothing is called {error} in {value!r}: make a row of the owner's, or of somebody else's, in places()."
            ) from error
    return {key: filled(item, values) for key, item in value.items()} if isinstance(value, Mapping) else value


@contextlib.contextmanager
def rolled_back(*clients: Client) -> Iterator[None]:
    """Roll back all changes made inside; anybody who was signed out is signed in again."""
    cookies = [SimpleCookie() for _ in clients]
    for cookie, client in zip(cookies, clients, strict=True):
        cookie.update(client.cookies)
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
    for cookie, client in zip(cookies, clients, strict=True):
        client.cookies = cookie
    cache.clear()


class InProcess(httpx.BaseTransport):
    """Takes the canary's requests to the product in this process, as one client. ``answers``: every byte of each response.
    ``rolls_back``: whether changes are rolled back. ``accept`` takes the place of a browser's header."""

    def __init__(self, client: Client, *, rolls_back: bool = True, accept: str = "") -> None:
        self.answers: list[tuple[str, bytes]] = []
        self._client = client
        self._rolls_back = rolls_back
        self._accept = accept

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        path, headers = request.url.raw_path.decode(), {"accept": self._accept or request.headers["accept"]}
        kind = request.headers.get("content-type", "application/x-www-form-urlencoded")
        with rolled_back(self._client) if self._rolls_back else contextlib.nullcontext():
            response = self._client.generic(request.method, path, request.read(), content_type=kind, headers=headers)
            head, _, body = (sent := whole(response)).partition(b"\n\n")
        self.answers.append((f"{request.method} {path}", sent))
        return httpx.Response(response.status_code, headers=[*response.items()], content=body, extensions={"reason_phrase": head})


def visitor(viewer: str, transport: InProcess) -> Browser:
    """The canary's browser in this process. What it notes is dropped: the transport keeps what it was answered."""
    return Visited("http://testserver", Watch(), transport=transport).browser(viewer)


def whole(response: HttpResponseBase) -> bytes:
    """Every byte of a response: status line, headers, cookies, body."""
    head = [f"{response.status_code} {response.reason_phrase}", *(f"{name}: {value}" for name, value in response.items())]
    body = b"".join(response.streaming_content) if response.streaming else getattr(response, "content", b"")  # type: ignore[attr-defined]
    return "\n".join([*head, response.cookies.output()]).encode() + b"\n\n" + body
