// What a page knows of a diagram before it is drawn, and what it believes of what the frame says.

/** A longer source is not drawn. */
export const MOST_CHARACTERS = 20_000;
const LEAST_HEIGHT_PX = 32;
const MOST_HEIGHT_PX = 4_000;

/** What a screen reader calls each kind, by the first word of its source. */
const NAMES = Object.freeze({
  graph: "Flowchart, drawn from its source",
  flowchart: "Flowchart, drawn from its source",
  sequenceDiagram: "Sequence diagram, drawn from its source",
  classDiagram: "Class diagram, drawn from its source",
  stateDiagram: "State diagram, drawn from its source",
  erDiagram: "Entity relationship diagram, drawn from its source",
  gantt: "Gantt chart, drawn from its source",
  pie: "Pie chart, drawn from its source",
  journey: "User journey, drawn from its source",
  gitGraph: "Git graph, drawn from its source",
  timeline: "Timeline, drawn from its source",
  quadrantChart: "Quadrant chart, drawn from its source",
});

/**
 * What a screen reader calls the diagram: its own accessible title if it has one, or else its kind.
 * @param {string} source
 */
export function nameOf(source) {
  const title = /^\s*accTitle\s*:\s*(.+)$/m.exec(source)?.[1]?.trim().slice(0, 200);
  if (title) return title;
  const body = source.replace(/^---\n[\s\S]*?\n---\n/, "").replace(/^\s*%%.*$/gm, "");
  const kind = /^\s*([A-Za-z]+)/.exec(body)?.[1] ?? "";
  const known = /** @type {Record<string, string>} */ (NAMES);
  return Object.hasOwn(NAMES, kind) && known[kind] ? known[kind] : "Diagram, drawn from its source";
}

/**
 * How high the frame is to be, in pixels; null if it could not draw, or says anything else.
 * @param {unknown} reply
 * @returns {number | null}
 */
export function heightIn(reply) {
  if (typeof reply !== "object" || reply === null || !("isDrawn" in reply) || reply.isDrawn !== true) return null;
  const height = "height" in reply ? reply.height : null;
  if (typeof height !== "number" || !Number.isFinite(height)) return null;
  return Math.min(MOST_HEIGHT_PX, Math.max(LEAST_HEIGHT_PX, Math.ceil(height)));
}
