"""Writing messages all day: the next one while an answer is written, drafts in several tabs, and how much may be written."""
