"""The database tables, one file for each noun. A Conversation is a tree of Messages; each Message is one stored OpenChatML frame.

A table holds no behaviour beyond its constraints. ``Message.text`` is the truth, and every other column about a message is derived from it
(``store.transcripts``). Edges import no table. Requests to a model are stored with their ``Turn``, only for the debug view
(``store.requests``).
"""

from chatui.models.assistants import Assistant, AssistantPicture, AssistantVersion
from chatui.models.audit import AttemptWarning, AuditEvent, CountedLine
from chatui.models.collections import Collection
from chatui.models.conversation import ActiveLeaf, Conversation, Folder
from chatui.models.debug_requests import DebugRequest
from chatui.models.files import DocumentPart, DocumentPassage, DocumentText, FileContent, FilePiece, SentDocument, StoredFile
from chatui.models.invitations import Invitation
from chatui.models.machine_keys import MachineKey
from chatui.models.message import Message, OpenedPage, Reindexing, SearchEntry
from chatui.models.model_servers import Examination, SeparationProof, StoredBackend
from chatui.models.passkeys import Passkey
from chatui.models.programs import ApiKey, ProgramAnswer, ProgramConversation
from chatui.models.provisioning import GivenGroups, ProvisionedAccount, ProvisionedGroup, ProvisioningToken
from chatui.models.ratings import Rating
from chatui.models.saved_prompts import SavedPrompt
from chatui.models.shares import ShareLink
from chatui.models.sign_in import BegunSession, OutsideIdentity, PasswordLink, RecoveryCode, RequiredFactor, SecondFactor
from chatui.models.tool_sign_in import ToolClient, ToolSignIn
from chatui.models.tools import StoredToolServer, ToolApproval, ToolCall, ToolConfirmation, ToolRule, ToolSession, ToolSetting
from chatui.models.turn import Turn, TurnPiece
from chatui.models.usage import ModelPrice, UsageCount, UsageEntry, UsageLimit
from chatui.models.user import AccountChange, ClosedAccount, FirstAccountCode, GroupChange, User
