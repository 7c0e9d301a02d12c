"""The names under which files are downloaded, as a browser reads them."""

from email.message import Message

from chatui.transfer import exports


def name_of(title: str, ending: str = "") -> str:
    """The name of a conversation's file; ``ending`` as in ``exports.attachment``."""
    header = Message()
    header["Content-Disposition"] = exports.attachment(title, ending)
    return str(header.get_filename())
