// Labels a diagram before it is drawn, and validates what its frame reports.

import { t } from "../language/words.js";

/** A longer source is not drawn. */
export const MAX_CHARACTERS = 20_000;
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
