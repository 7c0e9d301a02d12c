"""Our extra rules for markdown-it, for Markdown that models write and CommonMark reads differently."""
