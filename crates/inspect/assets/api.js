// The only module that fetches. It holds the token, reports a lost connection, and keeps runs apart.
// What the API answers is in tests/inspector/api.d.ts.

/** @typedef {Record<string, string | number | boolean | null | undefined>} Query */

const TOKEN = "contrail.token";
const channel = new BroadcastChannel("contrail");

/** The token that the server took, or may take. */
let token = sessionStorage.getItem(TOKEN);
/** The run that the page shows: `null` until the first answer. @type {string | null} */
let run = null;

/** What `main` does about the connection. */
export const connection = {
  /** No answer came. */
  lost: () => {},
  /** The token is not this server's. */
  refused: () => {},
  /** Another run answers at this address. */
  otherRun: () => {},
};

/** An answer that is an error: its sentence is for people. */
export class Refused extends Error {
  /** @param {number} status @param {string} sentence @param {number | null} at */
  constructor(status, sentence, at) {
    super(sentence);
    this.status = status;
    this.at = at;
  }
}

/** No answer came, or one of another run. */
export class Unreachable extends Error {}

// A new tab of the same address has no token in its own storage: one that has it gives it away.
channel.addEventListener("message", (event) => {
  if (event.data?.ask === true && token && run) channel.postMessage({ token });
});

/** @param {number} ms @returns {Promise<string | null>} the token of another tab */
function ofSiblings(ms) {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(null), ms);
    /** @param {MessageEvent} event */
    const answered = (event) => {
      if (typeof event.data?.token !== "string" || event.data.token === token) return;
      clearTimeout(timer);
      channel.removeEventListener("message", answered);
      resolve(event.data.token);
    };
    channel.addEventListener("message", answered);
    channel.postMessage({ ask: true });
  });
}

/** @param {string} value */
export function setToken(value) {
  token = value;
  sessionStorage.setItem(TOKEN, value);
}

/** Takes a token out of an address, `http://127.0.0.1:8999/#k=TOKEN`, or of what stands for it alone.
 * @param {string} text @returns {string | null} */
export function tokenIn(text) {
  const trimmed = text.trim();
  const address = /[#&?]k=([\w.~+/=-]+?)(?=$|[/&])/.exec(trimmed);
  if (address?.[1]) return address[1];
  return /^[\w.~+/=-]{16,}$/.test(trimmed) ? trimmed : null;
}

/** Whether a token is there; another tab is asked for it. */
export async function hasToken() {
  if (!token) {
    const given = await ofSiblings(250);
    if (given) setToken(given);
  }
  return token !== null;
}

/**
 * @param {string} path
 * @param {Query} [query]
 */
export function address(path, query = {}) {
  const pairs = Object.entries(query)
    .filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false)
    .map(([key, value]) => `${key}=${encodeURIComponent(String(value))}`);
  return `api/${path}${pairs.length > 0 ? `?${pairs.join("&")}` : ""}`;
}

/**
 * The answer at a path of the API.
 *
 * @param {string} path
 * @param {Query} [query]
 * @param {AbortSignal} [signal]
 * @returns {Promise<Response>}
 */
export async function open(path, query = {}, signal) {
  const url = address(path, query);
  let answer = await request(url, signal);
  if (answer.status === 401) {
    // The token may be that of an earlier run on this port, and another tab may know the right one.
    const given = await ofSiblings(250);
    if (given) {
      setToken(given);
      answer = await request(url, signal);
    }
    if (answer.status === 401) {
      connection.refused();
      throw new Refused(401, "the token is not that of this run", null);
    }
  }
  checkRun(answer.headers.get("contrail-run"));
  if (answer.ok) return answer;
  let sentence = `contrail answered ${answer.status}`;
  let at = null;
  try {
    const error = await answer.json();
    if (typeof error.error === "string") sentence = error.error;
    if (typeof error.at === "number") at = error.at;
  } catch {
    // The status suffices.
  }
  throw new Refused(answer.status, sentence, at);
}

/** Answers of two runs are never mixed. @param {unknown} of the run that an answer is of, if it names one */
export function checkRun(of) {
  if (typeof of !== "string") return;
  run ??= of;
  if (run === of) return;
  connection.otherRun();
  throw new Unreachable("another run answers here");
}

/** @param {string} url @param {AbortSignal} [signal] */
async function request(url, signal) {
  try {
    return await fetch(url, {
      headers: { authorization: `Bearer ${token ?? ""}` },
      cache: "no-store",
      credentials: "omit",
      referrerPolicy: "no-referrer",
      signal: signal ?? null,
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    connection.lost();
    throw new Unreachable("no answer");
  }
}

/**
 * @param {string} path
 * @param {Query} [query]
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function get(path, query, signal) {
  const answer = await open(path, query, signal);
  let value;
  try {
    value = await answer.json();
  } catch (error) {
    if (signal?.aborted) throw error;
    connection.lost();
    throw new Unreachable("the answer broke off");
  }
  checkRun(value.run);
  return value;
}

/** Whether an error only means that its question is no longer asked, or that the page already shows what is wrong.
 * @param {unknown} error */
export function isSilent(error) {
  if (error instanceof Unreachable) return true;
  if (error instanceof Refused) return error.status === 401;
  return error instanceof DOMException && error.name === "AbortError";
}

/** The sentence of an error. @param {unknown} error */
export const sentenceOf = (error) => (error instanceof Error ? error.message : String(error));

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

/** The one stream of this tab: small notices of what there is. Rows and bodies are asked for. */
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
    const reading = new AbortController();
    this.#open = reading;
    const begun = performance.now();
    try {
      const answer = await open("stream", { n: this.#last }, reading.signal);
      if (!answer.body) throw new Unreachable("no stream");
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
      if (reading.signal.aborted) return;
      // The token page, or that of another run, is shown already.
      if (error instanceof Refused && error.status === 401) {
        this.stop();
        return;
      }
    }
    if (this.#open !== reading) return;
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
      checkRun(head.run);
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
