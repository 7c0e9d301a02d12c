"""What a page may contain after rendering, written independently of the renderer's own list, so that a mistake there is found here."""

LINK = ["href", "title", "rel", "target", "class", "id"]

POLICY: dict[str, object] = {
    "elements": {
        **{name: [] for name in ["p", "br", "hr", "strong", "em", "s", "sub", "kbd", "mark", "table", "thead", "tbody", "tr"]},
        **{name: ["dir"] for name in ["h1", "h2", "h3", "h4", "h5", "h6", "blockquote"]},
        **{name: ["align"] for name in ["th", "td"]},
        "ul": ["dir", "class"],
        "ol": ["dir", "class", "start"],
        "li": ["dir", "class", "value"],
        "pre": ["dir", "class", "title"],
        "div": ["dir", "class"],
        "sup": ["class"],
        "span": ["class"],
        "code": ["class"],
        "input": ["type", "disabled", "checked", "aria-label"],
        "a": LINK,
    },
    "schemes": ["http:", "https:", "mailto:"],
    "fragment": r"^#md-[a-z0-9_-]+$",
    "classes": r"^(language-[A-Za-z0-9][\w+#.-]*|block|plain|pending|page|toc|anchor|admonition|admonition-title|[a-z]{1,20}"
    r"|contains-task-list|task-list-item|footnote|footnote-ref|footnote-label|math|math-inline|math-dollars|math-display|link-host"
    r"|image-link)$",
    "ids": r"^md-[a-z0-9_-]+$",
    "rel": ["noopener", "noreferrer", "nofollow"],
}
