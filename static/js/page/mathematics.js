// Typesets mathematics in closed blocks with KaTeX, which is loaded only when a message has some.

/**
 * @typedef {object} Renderer the part of KaTeX that is used
 * @property {(tex: string, element: HTMLElement, options: Record<string, unknown>) => void} render
 */

/**
 * TeX may not load, link, run or expand anything without limit. If KaTeX cannot parse a formula, it throws, and the
 * source stays as text: KaTeX's own error message has a style attribute, which the Content-Security-Policy blocks.
 */
const OPTIONS = Object.freeze({ trust: false, throwOnError: true, strict: "ignore", maxExpand: 100, maxSize: 20 });
/** Names a formula for references elsewhere, of which there are none on a page. KaTeX does not know it. */
const LABEL = /\\label\{[^{}]*\}/g;
/** A longer formula is not typeset. */
const MAX_CHARACTERS = 2_000;

/** @type {Promise<Renderer> | null} */
let loading = null;

/**
 * Rejects if KaTeX cannot be fetched.
 * @param {Element} block
 */
export async function setMathematics(block) {
  for (const place of block.querySelectorAll(".math")) {
    const tex = place.textContent ?? "";
    if (!(place instanceof HTMLElement) || place.dataset.set || tex.length > MAX_CHARACTERS) continue;
    const setter = await load();
    place.dataset.set = "true";
    place.translate = false;
    try {
      const displayMode = place.classList.contains("math-display");
      setter.render(tex.replace(LABEL, ""), place, { ...OPTIONS, displayMode });
    } catch {
      // The source is readable; an error message in its place would not be.
      place.textContent = tex;
    }
  }
}

/** @returns {Promise<Renderer>} */
function load() {
  loading ??= Promise.all([import("../../vendor/katex/katex.min.js"), loadStyles()]).then(() => {
    // KaTeX's small build is not a module: it defines a global.
    return /** @type {{ katex: Renderer }} */ (/** @type {unknown} */ (globalThis)).katex;
  }).catch((error) => {
    loading = null;
    throw error;
  });
  return loading;
}

/** @returns {Promise<void>} */
function loadStyles() {
  const address = document.querySelector("[data-katex-styles]")?.getAttribute("data-katex-styles");
  if (!address) return Promise.reject(new Error("the page does not name KaTeX's styles"));
  return new Promise((resolve, reject) => {
    const link = document.createElement("link");
    link.rel = "stylesheet";
    link.href = address;
    link.addEventListener("load", () => resolve());
    link.addEventListener("error", () => reject(new Error("KaTeX's styles did not load")));
    document.head.append(link);
  });
}
