// Uploads a file with progress, cancellably, and lists the files on the server.

import { t } from "../language/words.js";
import { read } from "../page/server.js";

/**
 * The server's description of an uploaded file.
 * @typedef {object} UploadedFile
 * @property {string} id
 * @property {string} name
 * @property {number} size
 * @property {number} tokens
 * @property {number} room how many tokens the files of one message may have
 * @property {boolean} search whether the model can search in it
 * @property {string} description
 * @property {string} note
 * @property {[number, string, number][]} places number, label and tokens of each page
 * @property {string} text the address of its extracted text
 * @property {string} delete the address at which it is deleted; empty for one of a question that was sent
 * @property {string} [use] how the model used a file of a question
 * @property {string} [chosen] the pages chosen then
 */

/** The file was rejected; `message` says why. `canRetry`: another attempt may succeed. */
export class RejectedFile extends Error {
  /** @param {string} message @param {boolean} canRetry */
  constructor(message, canRetry) {
    super(message);
    this.canRetry = canRetry;
  }
}

const AWAY = t("The server could not be reached. Please try again.");

/**
 * @param {File} file
 * @param {string} choice the model that is to read it
 * @param {(share: number) => void} progressed 0 to 1; then the server reads the file
 * @returns {{ taken: Promise<UploadedFile>, end: () => void }}
 */
export function send(file, choice, progressed) {
  const request = new XMLHttpRequest(); // fetch reports no progress
  const taken = new Promise((/** @type {(taken: UploadedFile) => void} */ resolve, reject) => {
    request.open("POST", address(choice));
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.setRequestHeader("Accept", "application/json");
    request.setRequestHeader("X-File-Name", encodeURIComponent(file.name.slice(0, 300).replace(/\p{Cs}/gu, "_")));
    const token = document.querySelector("meta[name=csrf-token]");
    request.setRequestHeader("X-CSRFToken", token?.getAttribute("content") ?? "");
    request.upload.addEventListener("progress", ({ loaded, total }) => progressed(total ? loaded / total : 1));
    request.addEventListener("error", () => reject(new RejectedFile(AWAY, true)));
    request.addEventListener("abort", () => reject(new RejectedFile("", false)));
    request.addEventListener("load", () => {
      const reply = answer(request.responseText);
      if (reply.id) return resolve(/** @type {UploadedFile} */ (reply));
      reject(new RejectedFile(reply.message || AWAY, request.status !== 200));
    });
    request.send(file);
  });
  return { taken, end: () => request.abort() };
}

/**
 * The files that were attached here and not sent yet.
 * @param {string} choice the model that is to read them
 * @returns {Promise<UploadedFile[]>}
 */
export async function waiting(choice) {
  return told(address(choice));
}

/**
 * The files of a question, which is being edited.
 * @param {string} choice
 * @param {string} question
 */
export function filesOf(choice, question) {
  return told(`${address(choice)}&${new URLSearchParams({ question })}`);
}

/** @param {string} from @returns {Promise<UploadedFile[]>} */
async function told(from) {
  return /** @type {{ files?: UploadedFile[] }} */ (JSON.parse(await read(from))).files ?? [];
}

/** The conversation whose message box this is; null for a new one. */
export function conversationHere() {
  return /^\/c\/([0-9a-f-]{36})\//.exec(location.pathname)?.[1] ?? null;
}

/**
 * With the message box of this page.
 * @param {string} choice
 * @param {string} [path]
 */
export function address(choice, path = "/files/") {
  return `${path}?${new URLSearchParams({ choice, conversation: conversationHere() ?? "" })}`;
}

/** @param {string} text @returns {{ id?: string, message?: string }} */
function answer(text) {
  try {
    return /** @type {{ id?: string, message?: string }} */ (JSON.parse(text) ?? {});
  } catch {
    return {};
  }
}
