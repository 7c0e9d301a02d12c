"""Extensions of markdown-it, for Markdown that models write and CommonMark reads differently."""
