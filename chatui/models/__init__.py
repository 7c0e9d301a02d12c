"""The database tables, each in its own file; a turn's pieces are in the turn's file. A Conversation is a tree of Messages; each Message is
one stored OpenChatML frame.
"""

from chatui.models.account_change import AccountChange
from chatui.models.accounts.begun_session import BegunSession
from chatui.models.accounts.closed_account import ClosedAccount
from chatui.models.accounts.invitation import Invitation
from chatui.models.accounts.outside_identity import OutsideIdentity
from chatui.models.accounts.passkey import Passkey
from chatui.models.accounts.provisioning import ProvisionedAccount, ProvisionedGroup, ProvisioningToken
from chatui.models.accounts.required_factor import RequiredFactor
from chatui.models.accounts.second_factor import RecoveryCode, SecondFactor
from chatui.models.active_leaf import ActiveLeaf
from chatui.models.audit.attempt_warning import AttemptWarning
from chatui.models.audit.audit_event import AuditEvent
from chatui.models.audit.counted_line import CountedLine
from chatui.models.browsing.opened_page import OpenedPage
from chatui.models.conversation import Conversation
from chatui.models.debug_request import DebugRequest
from chatui.models.files.document import DocumentPart, DocumentText, SentDocument
from chatui.models.files.passage import DocumentPassage
from chatui.models.files.stored_file import FileContent, FilePiece, StoredFile
from chatui.models.first_account_code import FirstAccountCode
from chatui.models.folder import Folder
from chatui.models.message import Message
from chatui.models.password_link import PasswordLink
from chatui.models.programs.api_key import ApiKey
from chatui.models.programs.program_answer import ProgramAnswer
from chatui.models.ratings.rating import Rating
from chatui.models.search_entry import SearchEntry
from chatui.models.servers.examination import Examination
from chatui.models.share_link import ShareLink
from chatui.models.stored_backend import StoredBackend
from chatui.models.tool_call import ToolCall
from chatui.models.tools.approval import ToolApproval
from chatui.models.tools.rule import ToolRule
from chatui.models.turn import FailedAnswer, Turn, TurnPiece
from chatui.models.usage.count import UsageCount
from chatui.models.usage.entry import UsageEntry
from chatui.models.usage.limit import UsageLimit
from chatui.models.usage.price import ModelPrice
from chatui.models.user import User

__all__ = [
    "AccountChange",
    "ActiveLeaf",
    "ApiKey",
    "AttemptWarning",
    "AuditEvent",
    "BegunSession",
    "ClosedAccount",
    "Conversation",
    "CountedLine",
    "DebugRequest",
    "DocumentPart",
    "DocumentPassage",
    "DocumentText",
    "Examination",
    "FailedAnswer",
    "FileContent",
    "FilePiece",
    "FirstAccountCode",
    "Folder",
    "Invitation",
    "Message",
    "ModelPrice",
    "OpenedPage",
    "OutsideIdentity",
    "Passkey",
    "PasswordLink",
    "ProgramAnswer",
    "ProvisionedAccount",
    "ProvisionedGroup",
    "ProvisioningToken",
    "Rating",
    "RecoveryCode",
    "RequiredFactor",
    "SearchEntry",
    "SecondFactor",
    "SentDocument",
    "ShareLink",
    "StoredBackend",
    "StoredFile",
    "ToolApproval",
    "ToolCall",
    "ToolRule",
    "Turn",
    "TurnPiece",
    "UsageCount",
    "UsageEntry",
    "UsageLimit",
    "User",
]
