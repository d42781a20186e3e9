// The one stream of this tab: small notices of what there is. Rows and bodies are asked for.

import * as api from "./api.js";

/** A hidden tab gives its connection back: a browser has six of them for one address. */
const HIDDEN_MS = 600_000;
const LONGEST_WAIT_S = 10;
const SHORTEST_MS = 5_000;

/**
 * @typedef {object} Listener
 * @property {(head: Api.Head) => void} head
 * @property {(end: Api.End) => void} end
 * @property {() => void} moved another tab has taken the stream
 * @property {() => void} connected
 * @property {(seconds: number) => void} waiting the connection is lost; seconds until the next attempt
 */

export class Stream {
  /** @type {AbortController | null} */
  #open = null;
  #wait = 1;
  /** @type {number | undefined} */
  #timer;
  /** @type {number | undefined} */
  #hiding;
  #stopped = false;
  #last = 0;

  /** @param {Listener} listener */
  constructor(listener) {
    this.listener = listener;
    document.addEventListener("visibilitychange", () => this.#visible());
  }

  /** Connects, at once. */
  start() {
    this.#stopped = false;
    clearTimeout(this.#timer);
    this.#open?.abort();
    void this.#read();
  }

  stop() {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#open?.abort();
    this.#open = null;
  }

  /** Another request got no answer: the stream finds out now, and not when the system does. */
  doubt() {
    if (this.#stopped || this.#open === null) return;
    this.#open.abort();
    this.#open = null;
    this.#retry();
  }

  #visible() {
    clearTimeout(this.#hiding);
    if (document.hidden) {
      this.#hiding = setTimeout(() => {
        this.#open?.abort();
        this.#open = null;
        clearTimeout(this.#timer);
      }, HIDDEN_MS);
    } else if (!this.#stopped && this.#open === null) {
      this.start();
    }
  }

  async #read() {
    const open = new AbortController();
    this.#open = open;
    const begun = performance.now();
    try {
      const answer = await api.open("stream", { n: this.#last }, open.signal);
      if (!answer.body) throw new api.Unreachable("no stream");
      this.#wait = 1;
      this.listener.connected();
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        text += value;
        let end = text.indexOf("\n\n");
        while (end >= 0) {
          this.#message(text.slice(0, end));
          text = text.slice(end + 2);
          end = text.indexOf("\n\n");
        }
      }
    } catch (error) {
      if (open.signal.aborted) return;
      // The token page, or that of another run, is shown already.
      if (error instanceof api.Refused && error.status === 401) {
        this.stop();
        return;
      }
    }
    if (this.#open !== open) return;
    this.#open = null;
    // The server ends each stream in time, and the next one shows whether it is still there.
    if (performance.now() - begun > SHORTEST_MS) this.start();
    else this.#retry();
  }

  #retry() {
    if (this.#stopped || document.hidden) return;
    const seconds = this.#wait;
    this.#wait = Math.min(LONGEST_WAIT_S, seconds * 2);
    this.listener.waiting(seconds);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#read(), seconds * 1000);
  }

  /** @param {string} message */
  #message(message) {
    let event = "";
    let data = "";
    for (const line of message.split("\n")) {
      if (line.startsWith("event:")) event = line.slice(6).trim();
      else if (line.startsWith("data:")) data += line.slice(5);
    }
    if (event === "head") {
      /** @type {Api.Head} */
      const head = JSON.parse(data);
      api.checkRun(head.run);
      this.#last = head.n;
      this.listener.head(head);
    } else if (event === "end") {
      this.listener.end(JSON.parse(data));
    } else if (event === "moved") {
      this.stop();
      this.listener.moved();
    }
  }
}
