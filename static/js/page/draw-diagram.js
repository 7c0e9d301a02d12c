// Runs inside the frame of a diagram: receives one source from the embedding page, draws it, and reports its height.
//
// It is a classic script, because the frame has no origin, and a module would need one. It trusts nothing but the size
// of the source: what is drawn stays in this document, which can reach neither the page nor a network.

/**
 * @typedef {object} Drawer the part of Mermaid that is used
 * @property {(options: Record<string, unknown>) => void} initialize
 * @property {(options: { nodes: Element[] }) => Promise<void>} run
 */

(() => {
  const { mermaid } = /** @type {{ mermaid: Drawer }} */ (/** @type {unknown} */ (globalThis));
  /** Settings that a diagram's own directives (`%%{init: …}%%`, front matter) may not change. */
  const SECURE = [
    ...["secure", "securityLevel", "startOnLoad", "maxTextSize", "maxEdges", "suppressErrorRendering"],
    ...["dompurifyConfig", "themeCSS", "fontFamily", "altFontFamily", "theme", "darkMode", "logLevel"],
    ...["deterministicIds", "arrowMarkerAbsolute"],
  ];
  const MAX_CHARACTERS = 20_000;
  const MAX_EDGES = 300;
  /** Elements that Mermaid allows in labels but no diagram needs. They are replaced by their content. */
  const CONTROLS =
    "form, button, input, textarea, select, option, label, details, dialog, video, audio, " +
    "iframe, object, embed, script, link";
  /** A diagram wider than the frame is scaled down, but not below this share of its size; then it scrolls. */
  const SMALLEST = 0.6;

  /** @type {MessagePort | null} */
  let page = null;
  let source = "";

  addEventListener("message", (event) => {
    const [port] = event.ports;
    // Accept one message only: from the embedding page, and from the origin that served this document.
    if (page || !port || event.source !== parent || parent === window) return;
    if (event.origin !== new URL(location.href).origin || typeof event.data?.source !== "string") return;
    if (event.data.source.length > MAX_CHARACTERS) return;
    page = port;
    ({ source } = event.data);
    port.onmessage = ({ data }) => show(data === "dark");
    void show(event.data.dark === true);
  });

  /** @param {boolean} isDark */
  async function show(isDark) {
    document.documentElement.dataset.theme = isDark ? "dark" : "light";
    try {
      await draw(isDark);
      measure();
      // Paper is white: behind a dark diagram there is a light one for printing.
      if (isDark) setTimeout(() => draw(false).catch(() => {}), 0);
    } catch {
      page?.postMessage({ isDrawn: false });
    }
  }

  /**
   * Draws the diagram in one theme, unless it is there.
   * @param {boolean} isDark
   */
  async function draw(isDark) {
    const place = document.querySelector(isDark ? "#drawn-dark" : "#drawn-light");
    if (!place || place.firstChild) return;
    mermaid.initialize({
      startOnLoad: false,
      securityLevel: "strict",
      suppressErrorRendering: true,
      maxTextSize: MAX_CHARACTERS,
      maxEdges: MAX_EDGES,
      theme: isDark ? "dark" : "neutral",
      fontFamily: "system-ui, sans-serif",
      secure: SECURE,
    });
    // Mermaid measures text while it draws, which works only in a displayed element.
    const room = document.createElement("div");
    room.textContent = source;
    document.body.append(room);
    try {
      await mermaid.run({ nodes: [room] });
      // A copy has none of the listeners that Mermaid adds for what can be clicked.
      const picture = room.querySelector("svg")?.cloneNode(true);
      if (!(picture instanceof SVGSVGElement)) throw new Error("nothing was drawn");
      disarm(picture);
      fit(picture);
      place.replaceChildren(picture);
    } finally {
      room.remove();
    }
  }

  /**
   * Removes links and active content. The security policies forbid them as well.
   * @param {SVGSVGElement} picture
   */
  function disarm(picture) {
    for (const element of picture.querySelectorAll("a, image, img, use, feImage, animate, set")) {
      for (const name of ["href", "xlink:href", "src", "srcset", "target", "ping"]) {
        if (!element.getAttribute(name)?.startsWith("#")) element.removeAttribute(name);
      }
    }
    for (const element of picture.querySelectorAll(CONTROLS)) element.replaceWith(...element.childNodes);
    for (const element of picture.querySelectorAll("[tabindex], [autofocus], [contenteditable]")) {
      for (const name of ["tabindex", "autofocus", "contenteditable"]) element.removeAttribute(name);
    }
  }

  /** @param {SVGSVGElement} picture */
  function fit(picture) {
    const { width } = picture.viewBox.baseVal;
    if (!width) return;
    picture.setAttribute("width", "100%");
    picture.removeAttribute("height");
    picture.style.maxWidth = `${width}px`;
    picture.style.minWidth = `${width * SMALLEST}px`;
  }

  function measure() {
    page?.postMessage({ isDrawn: true, height: Math.ceil(document.body.getBoundingClientRect().height) });
  }

  new ResizeObserver(() => {
    if (document.querySelector(".drawn > svg")) measure();
  }).observe(document.body);
})();
