"""Writing messages: the next message during an answer, drafts in several tabs, attached files, and limits."""
