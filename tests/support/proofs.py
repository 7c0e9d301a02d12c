"""What model servers have proved about keeping reasoning apart, as it is stored."""

from typing import Any

from chatui.backends.separation import OwnProofs, digest_of, upstream_of
from chatui.backends.spec import BackendSpec
from chatui.model_servers import connected, stored
from chatui.model_servers.proofs import StoredProofs
from chatui.models.model_servers import SeparationProof, StoredBackend


def prove(server: str, url: str, *models: str) -> set[str]:
    """These ``models`` of a server of Administration proved it at this address, each under two names of what is behind it. Returns the
    digests of the rows that were added."""
    learned = OwnProofs()
    for model in models:
        learned.keep(model, "", "")
        learned.keep(model, "upstream", "")
    before = _digests()
    _proofs(server, url).take(learned)
    return _digests() - before


def is_proved(server: str, url: str, model: str, answer: dict[str, Any]) -> bool:
    """Whether the first answer of this model need not be held there. ``answer``: the fields by which the server names what is behind it."""
    return _proofs(server, url).version_of(model, digest_of(upstream_of(answer))) is not None


def _proofs(server: str, url: str) -> StoredProofs:
    spec: BackendSpec | None = stored.spec_of(StoredBackend.objects.get(name=server))
    assert spec is not None
    return StoredProofs(spec, url, connected.key_of(spec))


def _digests() -> set[str]:
    return set(SeparationProof.objects.values_list("digest", flat=True))
