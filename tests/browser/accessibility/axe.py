"""Runs axe-core, the accessibility engine, in a page, with all of its rules for WCAG 2.2 AA and its best practices."""

from typing import Any

from playwright.sync_api import Page

from tests.tools import node

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
COLOURS = ["color-contrast", "link-in-text-block"]
"""The rules whose result depends on colours, which are enough where only colours have changed."""
LOOKS: tuple[dict[str, Any], ...] = (
    {"color_scheme": "light", "forced_colors": "none"},
    {"color_scheme": "dark", "forced_colors": "none"},
    {"color_scheme": "dark", "forced_colors": "active"},
)
_RUN = """async (rules) => {
  // Wait for running colour transitions: the theme may have just changed.
  const moving = () => document.getAnimations().filter((each) => each instanceof CSSTransition);
  for (let waits = 0; waits < 20 && moving().length; waits++) await Promise.allSettled(moving().map((each) => each.finished));
  // Chromium renders text in the forced colour, but reports the page's own colour as its text fill colour.
  const read = CSSStyleDeclaration.prototype.getPropertyValue;
  CSSStyleDeclaration.prototype.getPropertyValue = function (name) {
    const isFill = name === "-webkit-text-fill-color" && matchMedia("(forced-colors: active)").matches;
    return read.call(this, isFill ? "color" : name);
  };
  const runOnly = rules.length ? { type: "rule", values: rules } : { type: "tag", values: TAGS };
  // No preload: axe would add style sheets to the page, which the policy forbids. None of these rules needs them.
  const { violations } = await axe.run(document, { runOnly, resultTypes: ["violations"], preload: false });
  CSSStyleDeclaration.prototype.getPropertyValue = read;
  return violations.flatMap(({ id, nodes }) => nodes.map((node) =>
    [`${id}: ${node.target.join(" ")} ${node.html.slice(0, 160)} —`,
      ...node.any.concat(node.all, node.none).map((each) => each.message)].join(" ")));
}""".replace("TAGS", repr(TAGS))


def complaints(page: Page, rules: list[str] | None = None) -> list[str]:
    """The violations that axe finds in what the page shows now, with their messages."""
    if not page.evaluate("() => Boolean(globalThis.axe)"):
        page.evaluate(node.axe())
    found: list[str] = page.evaluate(_RUN, rules or [])
    return found
