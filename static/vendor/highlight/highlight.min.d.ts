// Ours, for the type checker only: what the module exports is described where it is used.
declare const highlighter: unknown;
export default highlighter;
