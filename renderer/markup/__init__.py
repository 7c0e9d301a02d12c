"""Markdown from strangers becomes SafeHtml, also while it grows. The only maker of SafeHtml but for templates."""
