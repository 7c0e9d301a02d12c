"""Exports of other products, as they are taken apart before they are imported."""

from chatui.transfer.other_products import reading
from chatui.transfer.other_products.conversation_tree import DroppedKind
from chatui.transfer.other_products.reading import RawConversation


def found(data: bytes) -> list[RawConversation | DroppedKind]:
    """The conversations of an export in order, and in place of each that is left out, why."""
    return list(reading.conversations(data))


def unparsed(data: bytes) -> list[bytes]:
    """Those that are not left out, as they are written."""
    return [each.data for each in found(data) if not isinstance(each, DroppedKind)]
