// Records what a screen reader announces by itself: each text change of a live region that is not off, in order.

globalThis.heard = [];

const LIVE = "[aria-live], [role=status], [role=alert], [role=log], [role=timer], output";

function regionOf(node) {
  const element = node instanceof Element ? node : node.parentElement;
  const region = element?.closest(LIVE);
  const how = region?.getAttribute("aria-live") ?? (region?.role === "timer" ? "off" : "polite");
  return region && how !== "off" ? region : null;
}

function note(region) {
  const text = region?.textContent.trim().replace(/\s+/g, " ");
  if (text && region.checkVisibility()) globalThis.heard.push(text);
}

new MutationObserver((records) => {
  const regions = new Set();
  for (const { type, target, addedNodes } of records) {
    if (type === "attributes") {
      if (target.matches(LIVE)) regions.add(regionOf(target));
      continue;
    }
    regions.add(regionOf(target));
    for (const node of addedNodes) if (node instanceof Element) node.querySelectorAll(LIVE).forEach((each) => regions.add(regionOf(each)));
  }
  regions.forEach(note);
}).observe(document.body, { subtree: true, childList: true, characterData: true, attributeFilter: ["hidden", "role", "aria-live"] });
