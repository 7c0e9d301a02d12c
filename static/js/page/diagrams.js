// Diagrams: a closed code block in the language "mermaid" is drawn in a sandboxed frame. Loaded only when there is one.

import { atEnd, find, fromTemplate, lifeOf, pageOf } from "./dom.js";
import { t } from "../language/words.js";

/** How long a frame may take to draw once it is loaded, in milliseconds. */
const MAX_MS = 30_000;
/** A diagram is drawn when it comes this near to the screen: each frame is a document of its own. */
const NEAR = "800px";

const dark = matchMedia("(prefers-color-scheme: dark)");
/** What observes each page. @type {WeakMap<Element, IntersectionObserver>} */
const observers = new WeakMap();
/** The diagrams that have not come near yet. @type {WeakSet<Element>} */
const far = new WeakSet();

/** @param {Element} block closed */
export function drawDiagrams(block) {
  for (const code of block.querySelectorAll("pre > code.language-mermaid")) {
    const frame = code.closest(".code-frame");
    if (!(frame instanceof HTMLElement) || frame.dataset.diagram) continue;
    frame.dataset.diagram = "waiting";
    far.add(frame);
    near(frame).observe(frame);
  }
}

/** @param {Element} place on the page */
function near(place) {
  const page = pageOf(place);
  // The root is the scrolling element: with any other root, the margin would have no effect inside it.
  const root = page.querySelector(".scroller");
  const known = observers.get(page) ?? new IntersectionObserver(arrived, { root, rootMargin: NEAR });
  observers.set(page, known);
  return known;
}

/** Draws all diagrams, also those far from the screen, one after another. Resolves when each is drawn or has failed. */
export async function drawAll() {
  for (const place of document.querySelectorAll("[data-diagram=waiting]")) {
    if (!(place instanceof HTMLElement)) continue;
    if (far.has(place)) draw(place);
    await drawn(place);
  }
}

/** @param {HTMLElement} place */
async function drawn(place) {
  if (place.dataset.diagram !== "waiting") return;
  await new Promise((/** @type {(_: void) => void} */ resolve) => {
    const changes = new MutationObserver(() => resolve(changes.disconnect()));
    changes.observe(place, { attributeFilter: ["data-diagram"] });
  });
}

/** @param {HTMLElement} place */
function draw(place) {
  far.delete(place);
  near(place).unobserve(place);
  new Diagram(place).draw();
}

/** @param {IntersectionObserverEntry[]} entries */
function arrived(entries) {
  for (const { target, isIntersecting } of entries) {
    if (isIntersecting && target instanceof HTMLElement && far.has(target)) draw(target);
  }
}

class Diagram {
  #place;
  #source;
  #frame = document.createElement("iframe");
  #channel = new MessageChannel();
  #timer = 0;

  /** @param {HTMLElement} place the code block with its head */
  constructor(place) {
    this.#place = place;
    this.#source = place.querySelector("pre")?.textContent ?? "";
  }

  draw() {
    const address = document.querySelector("[data-diagram]")?.getAttribute("data-diagram");
    if (!address || this.#source.length > MAX_CHARACTERS) {
      this.#fail();
      return;
    }
    const frame = this.#frame;
    frame.className = "diagram";
    frame.title = nameOf(this.#source);
    // Without "allow-same-origin", the frame has an opaque origin; without the other flags, it cannot open windows,
    // show dialogs or navigate. Drawing needs "allow-scripts".
    frame.setAttribute("sandbox", "allow-scripts");
    frame.referrerPolicy = "no-referrer";
    frame.addEventListener("load", this.#send, { once: true });
    // The frame loads once: any later load is not the requested document.
    frame.addEventListener("load", () => frame.addEventListener("load", () => this.#fail()), { once: true });
    frame.src = address;
    this.#place.append(frame);
  }

  #send = () => {
    const { port1, port2 } = this.#channel;
    port1.onmessage = ({ data }) => this.#hear(data);
    this.#timer = setTimeout(() => this.#fail(), MAX_MS);
    // The frame's origin is opaque, so no other target can be named. Only this frame's document gets the port.
    this.#frame.contentWindow?.postMessage({ source: this.#source, dark: isDark() }, "*", [port2]);
  };

  /** @param {unknown} reply */
  #hear(reply) {
    clearTimeout(this.#timer);
    const height = heightIn(reply);
    if (height === null) {
      this.#fail();
      return;
    }
    this.#frame.style.blockSize = `${height}px`;
    if (this.#place.dataset.diagram !== "waiting") return;
    this.#place.dataset.diagram = "drawn";
    this.#offerSource();
    const life = lifeOf(this.#place);
    const themed = new MutationObserver(this.#recolour);
    themed.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    dark.addEventListener("change", this.#recolour, { signal: life });
    atEnd(life, () => themed.disconnect());
  }

  #recolour = () => this.#channel.port1.postMessage(isDark() ? "dark" : "light");

  #offerSource() {
    const button = fromTemplate("diagram-switch", HTMLButtonElement);
    const [toSource, toDiagram] = button.querySelectorAll("span");
    button.addEventListener("click", () => {
      const isSource = this.#place.dataset.diagram !== "source";
      this.#place.dataset.diagram = isSource ? "source" : "drawn";
      if (toSource) toSource.hidden = isSource;
      if (toDiagram) toDiagram.hidden = !isSource;
    });
    find(this.#place, ".code-head > button", HTMLElement).before(button);
    if (this.#place.classList.contains("code-sought")) button.click();
  }

  /** Shows the source, with an explanation. */
  #fail() {
    clearTimeout(this.#timer);
    this.#channel.port1.close();
    this.#frame.remove();
    this.#place.querySelector("[data-action=switch-diagram]")?.remove();
    if (this.#place.dataset.diagram === "failed") return;
    this.#place.dataset.diagram = "failed";
    this.#place.append(fromTemplate("diagram-failed", HTMLElement));
  }
}

function isDark() {
  const theme = document.documentElement.dataset.theme;
  return theme ? theme === "dark" : dark.matches;
}

// Labels a diagram before it is drawn, and validates what its frame reports.

/** A longer source is not drawn. */
const MAX_CHARACTERS = 20_000;
const MIN_HEIGHT_PX = 32;
const MAX_HEIGHT_PX = 4_000;

/** The label of each kind for screen readers, by the first word of its source. */
const NAMES = Object.freeze({
  graph: t("Flowchart, drawn from its source"),
  flowchart: t("Flowchart, drawn from its source"),
  sequenceDiagram: t("Sequence diagram, drawn from its source"),
  classDiagram: t("Class diagram, drawn from its source"),
  stateDiagram: t("State diagram, drawn from its source"),
  erDiagram: t("Entity relationship diagram, drawn from its source"),
  gantt: t("Gantt chart, drawn from its source"),
  pie: t("Pie chart, drawn from its source"),
  journey: t("User journey, drawn from its source"),
  gitGraph: t("Git graph, drawn from its source"),
  timeline: t("Timeline, drawn from its source"),
  quadrantChart: t("Quadrant chart, drawn from its source"),
});

/**
 * The diagram's label for screen readers: its own accessible title if it has one, or else its kind.
 * @param {string} source
 */
export function nameOf(source) {
  const title = /^\s*accTitle\s*:\s*(.+)$/m.exec(source)?.[1]?.trim().slice(0, 200);
  if (title) return title;
  const body = source.replace(/^---\n[\s\S]*?\n---\n/, "").replace(/^\s*%%.*$/gm, "");
  const kind = /^\s*([A-Za-z]+)/.exec(body)?.[1] ?? "";
  const known = /** @type {Record<string, string>} */ (NAMES);
  return Object.hasOwn(NAMES, kind) && known[kind] ? known[kind] : t("Diagram, drawn from its source");
}

/**
 * The height of the frame in pixels; null if it could not draw, or sent anything else.
 * @param {unknown} reply
 * @returns {number | null}
 */
export function heightIn(reply) {
  if (typeof reply !== "object" || reply === null || !("isDrawn" in reply) || reply.isDrawn !== true) return null;
  const height = "height" in reply ? reply.height : null;
  if (typeof height !== "number" || !Number.isFinite(height)) return null;
  return Math.min(MAX_HEIGHT_PX, Math.max(MIN_HEIGHT_PX, Math.ceil(height)));
}
