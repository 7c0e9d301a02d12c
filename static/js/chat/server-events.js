// Applies the server's events to the page.

import { LANGUAGE, t, tc } from "../language/words.js";
import { rowOf } from "../exchange/answer-parts.js";
import { noteContext, noticeOf } from "../exchange/exchange.js";
import { refusal } from "../language/refusals.js";
import { parse, seek } from "../page/dom.js";
import { isTurnEvent, Sequence, STATE_OF } from "../wire/protocol.js";

/** @import { Accepted, EndUserEvent, Idle, MessageBegan, Refused, Snapshot, TurnEnded } from "../wire/wire.js" */
/** @import { Commands, PageParts } from "./commands.js" */
/** @import { Exchange } from "../exchange/exchange.js" */
/** @import { TabTitle } from "../page/connection.js" */

/** @typedef {{ announcer: Announcer, commands: Commands, stage: HTMLElement }} Others */
/** @typedef {Omit<PageParts, "connection"> & Others} Page what events change */
const limits = () => import("../composer/limits.js").catch(() => null);
const offers = () => import("./model-offers.js").catch(() => null);

const BUSY = "E-X-BUSY";

export class ServerEvents {
  #page;
  #queue = new EventQueue((event) => this.#apply(event), () => this.#page.commands.subscribe());

  /** @param {Page} page */
  constructor(page) {
    this.#page = page;
  }

  /** @param {EndUserEvent[]} events */
  receive(events) {
    this.#queue.receive(events);
  }

  /** @param {EndUserEvent} event @returns {Promise<void> | void} */
  #apply(event) {
    const { transcript, announcer, banner, commands, open } = this.#page;
    switch (event.type) {
      case "chatui:accepted":
        return this.#accepted(event);
      case "chatui:refused":
        return event.client_id || commands.mayBeRefused ? this.#refused(event) : undefined;
      case "response.created":
        if (event.conversation !== open.id) return undefined;
        if (event.choice) this.#follow(event);
        return this.#begin(event);
      case "chatui:working":
        transcript.byTurn(event.turn)?.thinking.begin(event.elapsed, event.can_answer_now);
        return announcer.thinking(event.turn);
      case "chatui:asked":
        return announcer.say(transcript.byTurn(event.turn)?.thinking.asked(event.line ?? null));
      case "chatui:summary":
        return announcer.say(transcript.byTurn(event.turn)?.thinking.add(event.line));
      case "chatui:thought":
        return transcript.byTurn(event.turn)?.thinking.showThought(event.seconds);
      case "chatui:message":
        return this.#messageBegan(event);
      case "chatui:relabelled":
        transcript.byTurn(event.turn)?.thinking.goesOn();
        return transcript.byTurn(event.turn)?.parts.relabel(event.message_id, event.kind);
      case "chatui:withdrawn":
        transcript.byTurn(event.turn)?.thinking.goesOn();
        return transcript.byTurn(event.turn)?.parts.withdraw(event.message_id);
      case "response.delta":
      case "chatui:preamble.delta":
      case "response.delta.flush":
        return transcript.byTurn(event.turn)?.write(event);
      case "response.completed":
      case "response.incomplete":
      case "response.failed":
      case "response.cancel":
        return this.#ended(event);
      case "chatui:snapshot":
        return this.#snapshot(event);
      case "chatui:idle":
        return this.#idle(event);
      case "chatui:queued":
        return announcer.say(transcript.byTurn(event.turn)?.thinking.showQueued(event.place));
      case "chatui:calls_wait":
        return callsWait(transcript.byTurn(event.turn), event.count, event.told);
      case "chatui:files":
        return filesCame(transcript.byTurn(event.turn), event.count);
      case "chatui:progress":
        return transcript.byTurn(event.turn)?.thinking.showProgress(event);
      case "chatui:checking":
        return void transcript.byTurn(event.turn)?.thinking.say(t("The answer is checked before it is shown…"));
      case "chatui:saving":
        return void transcript.byTurn(event.turn)?.thinking.say(t("Saving…"));
      case "chatui:closing":
        return banner.closing(event.code);
      case "chatui:ping":
      case "chatui:alive":
      case "chatui:beat":
        return undefined; // the connection and the queue have answered them
      default:
        return open.changed(event); // about the person's list, which has a case for each
    }
  }

  /** @param {Accepted} event */
  #accepted(event) {
    const { transcript, composer, commands, open } = this.#page;
    const command = commands.settle(event.client_id);
    if (!command) return;
    if (command.type === "send") composer.accepted(event.conversation);
    transcript.accepted(event.client_id, event.turn);
    if (open.id === null) open.moveTo(event);
    this.#begin({
      ...{ turn: event.turn, question: event.question, after: null, kind: command.type },
      ...(command.type === "edit" ? { replaces: command.question } : {}),
      ...(command.type === "continue" ? { continued_turn: command.turn } : {}),
    });
    commands.stopIfWanted();
    if (event.percent) void limits().then((words) => words?.tellNear(event, composer));
    else composer.querySelector(".usage-note")?.remove();
  }

  /** @param {Refused} event */
  #refused(event) {
    const { transcript, composer, commands, stage } = this.#page;
    const command = commands.settle(event.client_id);
    composer.running = transcript.running.some((exchange) => !exchange.isSending);
    if (command?.type === "send") {
      transcript.unsend(command.client_id);
      if (transcript.isEmpty) stage.dataset.empty = "";
    }
    // The page may not know of that answer yet.
    if (event.code === BUSY) commands.subscribe();
    if (command?.type === "send" && event.code === BUSY) {
      const { client_id: clientId, choice, files } = command;
      // As the message box gave them, with their names.
      const attached = /** @type {import("../composer/composer.js").Files | undefined} */ (files);
      return composer.early({ ...command, clientId, choice: choice ?? "", files: attached });
    }
    if (command?.type === "send") composer.refused(command.text);
    const isEdit = command?.type === "edit";
    const say = (/** @type {string} */ words) => void ((isEdit && transcript.refuseEdit(words)) || composer.say(words));
    if (event.code !== "E-X-NO-SUCH-MODEL") say(refusal(event.code));
    else void offers().then((module) => (module ? module.refused(composer, command, say) : say(refusal(event.code))));
    if (event.until) void limits().then((words) => words && say(words.reached(event)));
  }

  /** @param {import("../wire/wire.js").TurnCreated} event */
  #follow({ choice, effort }) {
    const { composer } = this.#page;
    const { dataset } = composer;
    if (choice === dataset.choice && effort === dataset.effort && !composer.querySelector(".composer-gone")) return;
    void offers().then((module) => module?.follow(composer, choice ?? "", effort ?? ""));
  }

  /** @param {import("./transcript.js").TurnBeginning} event */
  #begin(event) {
    const { transcript, composer, announcer, open, stage } = this.#page;
    const isNews = transcript.byTurn(event.turn)?.question !== event.question;
    const exchange = transcript.begin(event);
    if (!exchange) return void open.refresh();
    if (event.html) exchange.showQuestion(parse(event.html));
    if (event.html && event.language !== LANGUAGE) void this.#fetch(exchange);
    if (!isNews || !exchange.isRunning) return;
    composer.running = true;
    announcer.thinking(event.turn);
    delete stage.dataset.empty;
  }

  /** @param {MessageBegan} event */
  #messageBegan({ turn, message_id: message, kind, continued_message: cut, blocks }) {
    const exchange = this.#page.transcript.byTurn(turn);
    if (!cut) exchange?.open(message, kind);
    // If the message that this one continues is not on the page, the server has to send its whole text.
    else if (!exchange?.parts.continueMessage(cut, message, blocks ?? 0)) this.#page.commands.subscribe();
  }

  /** @param {TurnEnded} event */
  #ended(event) {
    const { transcript, announcer } = this.#page;
    const exchange = transcript.byTurn(event.turn);
    // It has to be fetched if the event has none, or none in this page's language. The turn ends in any case.
    const below = event.row && event.language === LANGUAGE ? parse(event.html ?? "") : null;
    if (event.row) below?.append(rowOf(event.row));
    exchange?.end(event.state, below);
    callsWait(exchange, 0);
    if (exchange) noteContext(exchange.element, event.context, event.left_out);
    this.#showRunning();
    // The failure is announced once its text is on the page.
    if (below || !event.code || !exchange) announcer.ended(event.turn, STATE_OF[event.type], noticeOf(exchange));
    if (exchange && !(below && exchange.isQuestionWhole)) void this.#fetch(exchange);
  }

  /** @param {Snapshot} snapshot */
  async #snapshot(snapshot) {
    const { transcript, composer, announcer, open } = this.#page;
    // A turn that is new to this page began while it was disconnected: load the branch from the server first.
    if (!transcript.byTurn(snapshot.turn)) await open.refresh();
    this.#queue.resume(snapshot);
    const exchange = transcript.byTurn(snapshot.turn);
    exchange?.showSnapshot(snapshot);
    if (snapshot.delay) void this.#apply({ ...snapshot, type: snapshot.delay });
    callsWait(exchange, snapshot.calls_wait, snapshot.told);
    filesCame(exchange, snapshot.files);
    if (exchange && !exchange.isQuestionWhole) void this.#fetch(exchange);
    composer.running = transcript.running.length > 0;
    if (snapshot.working) announcer.thinking(snapshot.turn);
  }

  /** @param {Idle} event */
  async #idle(event) {
    const { transcript, open } = this.#page;
    for (const exchange of transcript.running) await this.#fetch(exchange);
    if (event.turn && !transcript.byTurn(event.turn)) await open.refresh();
    this.#showRunning();
  }

  /** @param {import("../exchange/exchange.js").Exchange} exchange */
  async #fetch(exchange) {
    await this.#page.open.fetchExchange(exchange);
    const { turn, isRunning, state } = exchange;
    if (turn && !isRunning) this.#page.announcer.ended(turn, state, noticeOf(exchange));
    this.#showRunning();
  }

  #showRunning() {
    this.#page.composer.running = this.#page.commands.isWorking || this.#page.transcript.running.length > 0;
  }
}

// Fetches parts of a running turn that no event contains: cards of calls that wait for the person, texts for them,
// and files.

/**
 * @param {Exchange | null} exchange
 * @param {number} count how many of its calls wait
 * @param {number | null} [told] how many texts of tools' servers it has
 */
function callsWait(exchange, count, told) {
  const isShown = exchange && seek(exchange.element, "[data-waiting]", HTMLElement) !== null;
  if (!exchange || !(count || told || isShown)) return;
  void import("../exchange/cards.js").then(({ showCards }) => showCards(exchange.element));
}

/**
 * @param {Exchange | null} exchange
 * @param {number} count how many files its turn has
 */
function filesCame(exchange, count) {
  if (exchange && count) void import("../files/answer-files.js").then(({ showFiles }) => showFiles(exchange.element));
}

// The queue of the server's events: applies them one after the other, each once and without a gap.

/** After a gap, the snapshot is not requested again before this time has passed; the turn's events wait. */
const RESYNC_MS = 3_000;

class EventQueue {
  #apply;
  #askSnapshot;
  #sequence = new Sequence();
  /** @type {EndUserEvent[]} */
  #waiting = [];
  #isDraining = false;
  #askedAt = -Infinity;

  /**
   * @param {(event: EndUserEvent) => Promise<void> | void} apply
   * @param {() => void} askSnapshot called when events of a turn are missing: the server has to send a snapshot
   */
  constructor(apply, askSnapshot) {
    this.#apply = apply;
    this.#askSnapshot = askSnapshot;
  }

  /** @param {EndUserEvent[]} events */
  receive(events) {
    this.#waiting.push(...events);
    if (!this.#isDraining) void this.#drain();
  }

  /** @param {Snapshot} snapshot that was applied: events that it includes are not applied again */
  resume({ turn, sequence_number: number }) {
    this.#sequence.resume(turn, number);
  }

  /** Events after a snapshot wait until the page that it needs has been fetched. */
  async #drain() {
    this.#isDraining = true;
    try {
      for (let event = this.#waiting.shift(); event; event = this.#waiting.shift()) {
        const pending = this.#isNext(event) ? this.#apply(event) : undefined;
        if (pending instanceof Promise) await pending;
      }
    } finally {
      this.#isDraining = false;
    }
  }

  /** @param {EndUserEvent} event */
  #isNext(event) {
    if (event.type === "chatui:beat") {
      if (this.#sequence.lacks(event.turn, event.sequence_number)) this.#resync();
      return false;
    }
    if (!isTurnEvent(event)) return true;
    const verdict = this.#sequence.admit(event.turn, event.sequence_number, event.type === "response.created");
    if (verdict === "gap") this.#resync();
    return verdict === "apply";
  }

  #resync() {
    if (performance.now() - this.#askedAt < RESYNC_MS) return;
    this.#askedAt = performance.now();
    this.#askSnapshot();
  }
}

// Announces the progress of a turn to screen readers and in the title of a background tab.

export class Announcer {
  #line;
  #tab;
  #announcements = new Announcements();

  /**
   * @param {HTMLElement} line the live region
   * @param {TabTitle} tab
   */
  constructor(line, tab) {
    this.#line = line;
    this.#tab = tab;
  }

  /** @param {string | null | void} sentence */
  say(sentence) {
    if (sentence) this.#line.textContent = sentence;
  }

  /** @param {string} turn */
  thinking(turn) {
    this.say(this.#announcements.say(turn, "thinking"));
  }

  /**
   * @param {string} turn
   * @param {string} state
   * @param {string | null} [sentence] what the server says about a problem
   */
  ended(turn, state, sentence = null) {
    const moment = state === "completed" ? "ready" : state === "stopped" ? "stopped" : "problem";
    const text = this.#announcements.say(turn, moment, moment === "problem" ? sentence : null);
    this.say(text);
    if (text && moment !== "stopped") this.#tab.tell(moment === "ready" ? t("Answer ready") : t("Not finished"));
  }
}

// The sentences about a turn for screen readers: each is announced once, and tokens never.

/** @typedef {"thinking" | "ready" | "stopped" | "problem"} Moment */

const SENTENCES = /** @type {Readonly<Record<Moment, string>>} */ ({
  thinking: t("Thinking"),
  ready: t("Answer ready"),
  stopped: tc("an answer", "Stopped"),
  problem: t("The answer was not finished"),
});

export class Announcements {
  /** @type {Set<string>} */
  #announced = new Set();

  /**
   * The sentence to announce, or null if it, or the end of the turn, was already announced.
   * @param {string} turn
   * @param {Moment} moment
   * @param {string | null} [sentence] a more exact one from the server
   * @returns {string | null}
   */
  say(turn, moment, sentence = null) {
    const key = moment === "thinking" ? `${turn} thinking` : `${turn} end`;
    if (this.#announced.has(key) || this.#announced.has(`${turn} end`)) return null;
    this.#announced.add(key);
    return sentence ?? SENTENCES[moment];
  }
}
