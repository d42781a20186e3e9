// The only module that fetches. It holds the token, tells a page that is out of touch, and keeps runs apart.

/** @typedef {"conforms" | "gap" | "violates" | "miss" | "unjudged"} Verdict */
/** @typedef {{ read: number, of: number }} Reading */
/** @typedef {{ status: number, sentences: string[], next: string | null }} End */
/** @typedef {Record<Verdict, number>} Counts */
/**
 * @typedef {object} Run
 * @property {string} build
 * @property {string} run
 * @property {string} mode
 * @property {string} title
 * @property {boolean} live
 * @property {string | null} started
 * @property {string[]} listeners
 * @property {{ name: string, value: string }[]} variables
 * @property {{ title: string, version: string, sha256: string, documents: string[] }[]} contracts
 * @property {{ name: string, entries: number }[]} sources
 * @property {string[]} notes
 * @property {{ aspect: string, reason: string, exchanges: number }[]} unchecked
 * @property {Record<string, number>} redacted
 * @property {{ name: string, value: string, source: string }[]} options
 * @property {Reading | null} reading
 * @property {End | null} end
 * @property {number} n
 * @property {Counts} counts
 * @property {string[]} views
 */
/**
 * @typedef {object} Row
 * @property {number} n
 * @property {string | null} source
 * @property {number} entry
 * @property {Verdict} verdict
 * @property {string} method
 * @property {number | null} status
 * @property {string | null} operation
 * @property {string} path
 * @property {{ kind: string, rule: string, at: string } | null} finding
 * @property {number} findings
 * @property {string | null} client
 * @property {number | null} took
 * @property {boolean} slow
 * @property {number} size
 * @property {string | null} started
 * @property {string[]} marks
 */
/** @typedef {{ n: number, size: number, from: number, rows: Row[], error: Problem | null }} Rows */
/** @typedef {{ at: number, message: string }} Problem */
/**
 * @typedef {object} Finding
 * @property {string} kind
 * @property {string} rule
 * @property {string} at
 * @property {string} message
 * @property {"request" | "response"} side
 * @property {"line" | "header" | "body" | "missing" | "nothing"} where
 * @property {number | null} line
 * @property {number | null} header
 * @property {string | null} ghost
 * @property {Passage[]} passages
 * @property {string} advice
 * @property {string} summary
 * @property {string | null} known
 */
/** @typedef {{ document: string, at: string, source: string | null, lines: string[], marked: number[] }} Passage */
/**
 * @typedef {object} Caller
 * @property {string | null} client
 * @property {string | null} issuer
 * @property {string | null} audience
 * @property {string | null} issued
 * @property {string | null} expires
 * @property {string | null} lifetime
 * @property {string} outcome
 * @property {string | null} signature
 * @property {string} kind
 * @property {{ name: string, state: string }[]} scopes
 * @property {string | null} same
 */
/**
 * @typedef {object} Body
 * @property {"none" | "whole" | "cut" | "withheld" | "late"} state
 * @property {string | null} sentence
 * @property {string | null} media_type
 * @property {number} size
 * @property {number | null} wire
 * @property {number} lines
 * @property {string[]} views
 * @property {string | null} malformed
 * @property {number} labels
 */
/**
 * @typedef {object} Message
 * @property {string} line
 * @property {[number, number, number][]} marks
 * @property {{ name: string, value: string, note: string | null, finding: number | null }[]} headers
 * @property {{ name: string, finding: number }[]} missing
 * @property {Body} body
 */
/** @typedef {{ blocked: number | null, send: number, wait: number, receive: number, total: number }} Timings */
/**
 * @typedef {object} Exchange
 * @property {number} n
 * @property {Row} row
 * @property {string} reference
 * @property {string} command
 * @property {string} target
 * @property {string} origin
 * @property {string} sentence
 * @property {Timings | null} timings
 * @property {number | null} median
 * @property {Finding[]} findings
 * @property {{ aspect: string, reason: string }[]} unchecked
 * @property {Caller | null} caller
 * @property {number} redacted
 * @property {Message} request
 * @property {Message | null} response
 * @property {string | null} end
 * @property {Miss | null} miss
 */
/**
 * @typedef {object} Line
 * @property {number | null} number
 * @property {number} indent
 * @property {string | null} at
 * @property {number | null} closes
 * @property {[string, string][]} tokens
 * @property {boolean} marked
 */
/** @typedef {{ count: number, lines: Line[] }} Lines */
/** @typedef {{ size: number, from: number, text: string, next: number | null }} Raw */
/** @typedef {{ offset: number, hex: string, text: string, marked: [number, number][] }} HexRow */
/** @typedef {{ size: number, rows: HexRow[] }} Hex */
/** @typedef {{ command: string, variables: string[], note: string | null }} Curl */
/**
 * @typedef {object} Group
 * @property {string} kind
 * @property {string} rule
 * @property {string | null} operation
 * @property {string} at
 * @property {number} count
 * @property {number} exchanges
 * @property {number | null} share
 * @property {number} first
 * @property {number} last
 * @property {number[]} examples
 * @property {string} message
 * @property {string} state
 * @property {string} query
 */
/** @typedef {{ n: number, rows: Group[] }} Findings */
/** @typedef {{ place: string, yours: string | null, fixture: string | null, option: string | null }} Difference */
/** @typedef {{ entry: number, request: string, status: number, differences: Difference[] }} Nearest */
/**
 * @typedef {object} Miss
 * @property {number} count
 * @property {string} reason
 * @property {string} detail
 * @property {string} request
 * @property {number | null} first
 * @property {Nearest[]} nearest
 * @property {string | null} option
 * @property {string | null} record
 */
/**
 * @typedef {object} Misses
 * @property {number} n
 * @property {Miss[]} rows
 * @property {{ host: string, count: number, option: string | null }[]} denied
 * @property {{ entry: number, request: string }[]} unused
 */
/** @typedef {{ n: number, counts: Counts, in_progress: number, reading: Reading | null }} Head */

const TOKEN = "contrail.token";
const channel = new BroadcastChannel("contrail");

/** The token that the server took, or may take. */
let token = sessionStorage.getItem(TOKEN);
/** The run that the page shows: `null` until the first answer. @type {string | null} */
let run = null;

/** What `main` is told of the connection. */
export const told = {
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

/** The next answer decides which run the page shows. */
export function forgetRun() {
  run = null;
}

/**
 * @param {string} path
 * @param {Record<string, string | number | boolean | null | undefined>} [query]
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
 * @param {Record<string, string | number | boolean | null | undefined>} [query]
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
      told.refused();
      throw new Refused(401, "the token is not that of this run", null);
    }
  }
  const of = answer.headers.get("contrail-run");
  if (of) {
    run ??= of;
    if (run !== of) {
      told.otherRun();
      throw new Unreachable("another run answers here");
    }
  }
  if (answer.ok) return answer;
  let sentence = `contrail answered ${answer.status}`;
  let at = null;
  try {
    const error = await answer.json();
    if (typeof error.error === "string") sentence = error.error;
    if (typeof error.at === "number") at = error.at;
  } catch {
    // The status says it.
  }
  throw new Refused(answer.status, sentence, at);
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
    told.lost();
    throw new Unreachable("no answer");
  }
}

/**
 * @param {string} path
 * @param {Record<string, string | number | boolean | null | undefined>} [query]
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function get(path, query, signal) {
  const answer = await open(path, query, signal);
  try {
    return await answer.json();
  } catch (error) {
    if (signal?.aborted) throw error;
    told.lost();
    throw new Unreachable("the answer broke off");
  }
}

/** Whether an error only says that its question is no longer asked, or that the page already shows what is wrong.
 * @param {unknown} error */
export function isSilent(error) {
  if (error instanceof Unreachable) return true;
  if (error instanceof Refused) return error.status === 401;
  return error instanceof DOMException && error.name === "AbortError";
}

/** The sentence of an error. @param {unknown} error */
export const sentenceOf = (error) => (error instanceof Error ? error.message : String(error));
