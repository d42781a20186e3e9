// What the inspector's server answers (crates/inspect): the page's types. They are private to the page.

declare namespace Api {
  type Verdict = "conforms" | "gap" | "violates" | "miss" | "unjudged";
  type Counts = Record<Verdict, number>;
  type Side = "request" | "response";

  interface Reading {
    read: number;
    of: number;
  }

  interface End {
    status: number;
    sentences: string[];
    next: string | null;
  }

  interface Head {
    n: number;
    counts: Counts;
    in_progress?: number; // only in a notice
    reading: Reading | null;
    run: string;
    /** Exchanges of smaller numbers have left the memory. */
    first: number;
    /** Exchanges whose details came too fast to be kept. */
    dropped: number;
  }

  interface Run {
    build: string;
    run: string;
    mode: string;
    title: string;
    live: boolean;
    /** The recording that exchanges are compared with. */
    base: string | null;
    started: string | null;
    listeners: string[];
    variables: { name: string; value: string }[];
    contracts: { name: string; title: string; version: string; sha256: string }[];
    sources: { name: string; entries: number }[];
    /** Where the values of options come from that are not the defaults. */
    options: { name: string; source: string }[];
    notes: string[];
    unchecked: { aspect: string; exchanges: number; operations: Record<string, number> }[];
    /** Secrets that redaction replaced, by kind. */
    secrets: Record<string, number>;
    personal: Record<string, number>;
    skipped: number;
    reading: Reading | null;
    end: End | null;
    n: number;
    counts: Counts;
  }

  interface Row {
    n: number;
    source: string | null;
    entry: number;
    verdict: Verdict;
    method: string;
    status: number | null;
    operation: string | null;
    path: string;
    finding: { kind: string; rule: string; at: string } | null;
    findings: number;
    client: string | null;
    took: number | null;
    slow: boolean;
    size: number;
    started: string | null;
    marks: string[];
    /** Of two recordings. */
    state: "added" | "removed" | "changed" | "same" | null;
    /** The header fields that were asked for, where the exchange has them. */
    fields?: Record<string, string>;
  }

  /** Buckets of one length from `start` to `end`; nothing of it where no exchange has a time. */
  interface Timeline {
    start: string | null;
    end: string | null;
    /** The time that the filter selects. */
    since: string | null;
    until: string | null;
    untimed: number;
    all: number[];
    /** Those that the filter selects: conforms, gap, violates, miss, unjudged. */
    matches: number[][];
  }

  interface GroupOf {
    /** What selects it. */
    term: string;
    /** Nothing stands for no client. */
    name: string;
    count: number;
    counts: Counts;
  }

  interface Groups {
    n: number;
    rows: GroupOf[];
    /** Further ones that are not listed. */
    further: number;
    searched: number | null;
  }

  interface Problem {
    /** Where in the query, in UTF-16 units. */
    at: number;
    message: string;
  }

  interface Rows {
    n: number;
    size: number;
    from: number;
    rows: Row[];
    /** The part of the entries that a search in bodies has read: `null` when it has ended. */
    searched: number | null;
    error?: Problem;
  }

  interface DocumentLine {
    text: string;
    /** The place in the same document that it refers to. */
    to: string | null;
  }

  /** Lines of a document of the contract, at a place. */
  interface Document {
    name: string;
    title: string;
    at: string;
    /** The places that it stands in. */
    above: string[];
    size: number;
    from: number;
    lines: DocumentLine[];
  }

  interface Passage {
    document: string;
    /** Which document of the contract. */
    number: number | null;
    at: string;
    source: string | null;
    lines: string[];
    /** Indices of `lines`. */
    marked: number[];
  }

  interface Finding {
    kind: string;
    rule: string;
    at: string;
    message: string;
    side: Side | null;
    where: "line" | "header" | "body" | "missing" | "nothing";
    line: number | null;
    header: number | null;
    ghost: string | null;
    passages: Passage[];
    advice: string;
    summary: string;
    means: string;
    source: string;
    /** Why it does not set the exit status. */
    known: string | null;
  }

  interface Caller {
    client: string | null;
    issuer: string | null;
    audience: string[] | null;
    issued: string | null;
    expires: string | null;
    lifetime: number | null;
    outcome: string | null;
    signature: string | null;
    kind: string;
    scopes: { name: string; state: string }[];
    /** The query of all exchanges of this caller. */
    same: string | null;
  }

  interface Body {
    state: "none" | "whole" | "cut" | "withheld" | "late";
    sentence: string | null;
    media_type: string | null;
    size: number;
    wire: number | null;
    lines: number;
    views: string[];
    malformed: string | null;
    labels: number;
  }

  interface Message {
    /** The first line as it was sent. */
    line: string;
    /** From, to (UTF-16 units of `line`) and the index of the finding. */
    marks: [number, number, number][];
    headers: { name: string; value: string; note: string | null; finding: number | null }[];
    missing: { name: string; finding: number }[];
    body: Body;
  }

  interface Timings {
    blocked: number | null;
    send: number;
    wait: number;
    receive: number;
    total: number;
  }

  /** Of an exchange whose bytes are gone. */
  interface Gone {
    n: number;
    row: Row;
    reference: string;
    command: string | null;
    median: number | null;
    gone: string;
  }

  interface Exchange {
    n: number;
    row: Row;
    reference: string;
    command: string | null;
    gone?: undefined;
    target: string;
    origin: string;
    sentence: string;
    timings: Timings | null;
    median: number | null;
    findings: Finding[];
    unchecked: { aspect: string; at: string; reason: string }[];
    remarks: string[];
    caller: Caller | null;
    redacted: number;
    request: Message;
    response: Message | null;
    end: string | null;
  }

  interface Line {
    /** `null`: a line that is not in the body, for what is missing. */
    number: number | null;
    /** Levels, not columns. */
    indent: number;
    at: string | null;
    /** The index of the line that closes what this one opens. */
    closes: number | null;
    /** Kind and text. */
    tokens: [string, string][];
    marked: boolean;
  }

  interface Lines {
    count: number;
    lines: Line[];
  }

  interface Raw {
    size: number;
    from: number;
    text: string;
    next: number | null;
  }

  interface HexRow {
    offset: number;
    hex: string;
    text: string;
    /** From and to, in bytes of the row. */
    marked: [number, number][];
  }

  interface Hex {
    size: number;
    rows: HexRow[];
  }

  /** A part of a list within a body. */
  interface BodyRows<T> {
    size: number;
    rows: T[];
    note?: string;
  }

  /** An item of a sequence. */
  interface Item {
    index: number;
    event: string | null;
    id: string | null;
    data: string;
    verdict: string | null;
  }

  /** A part of a multipart body. */
  interface BodyPart {
    name: string | null;
    file: string | null;
    type: string | null;
    size: number;
    headers: { name: string; value: string }[];
    text: string | null;
    cut: boolean;
  }

  interface Image {
    type: string;
    width: number;
    height: number;
    /** Why it is not shown. */
    why: string | null;
    /** In base64. */
    data: string | null;
  }

  interface Curl {
    command: string;
    variables: string[];
    note: string | null;
  }

  interface Group {
    kind: string;
    rule: string;
    summary: string;
    operation: string | null;
    at: string;
    count: number;
    /** Exchanges of the operation. */
    of: number | null;
    first: number | null;
    firstAt: string | null;
    last: number | null;
    lastAt: string | null;
    /** Findings in equal parts of the time of all exchanges. */
    times: number[] | null;
    /** New, or why it does not set the exit status; `null` without a baseline and suppressions. */
    state: string | null;
    message: string;
    query: string;
    /** As a table of `contrail.toml`. */
    suppress: string;
  }

  interface Examples {
    examples: { n: number; finding: number; started: string | null; at: string; message: string }[];
  }

  interface Findings {
    n: number;
    /** Entries are still read. */
    reading: boolean;
    /** Groups of either kind, also those that are not listed. */
    violations: number;
    gaps: number;
    rows: Group[];
    /** Findings at places that are in no group. */
    further: number;
    /** When the first exchange started, and the last. */
    span: [string, string] | null;
    /** The command that prints an overlay of what these recordings show. */
    learn: string | null;
  }

  interface Difference {
    place: string;
    yours: string | null;
    fixture: string | null;
    option: string | null;
  }

  interface Nearest {
    entry: string;
    request: string;
    status: number;
    differences: Difference[];
  }

  interface Miss {
    count: number;
    reason: string;
    detail: string;
    request: string;
    operation: string | null;
    nearest: Nearest[];
    option: string | null;
  }

  interface Misses {
    n: number;
    rows: Miss[];
    record: string | null;
    further: number;
    denied: { host: string; reason: string; count: number }[];
    unused: { entry: string; request: string }[];
    stale: { entry: string; request: string; why: string }[];
  }

  /** A place of two exchanges. */
  interface Compared {
    at: string;
    left: string | null;
    right: string | null;
    same: boolean;
  }

  interface Comparison {
    /** `null` where there is no exchange to compare with. */
    left: Row | null;
    right: Row;
    /** Why the left one was chosen, unless a person chose it. */
    why: string | null;
    notes: string[];
    parts: { part: string; title: string; rows: Compared[] }[];
    /** Further differences. */
    further: number;
  }

  interface Part {
    touched: number;
    of: number;
  }

  interface Operation {
    name: string;
    method: string;
    path: string;
    summary: string;
    tags: string[];
    exchanges: number;
    conforms: number;
    gap: number;
    violates: number;
    statuses: Record<string, number>;
    /** Parts that were touched, of how many. */
    touched: number;
    of: number;
    /** Groups of gaps. */
    gaps: number;
    p50: number | null;
    p95: number | null;
    query: string;
  }

  /** `parts` are those of `contrail coverage --format json`. */
  interface Operations {
    n: number;
    parts: Record<string, Part>;
    operations: Operation[];
  }

  /** A part of an operation, or a gap at its place. */
  interface OperationPart {
    kind: string;
    /** Levels. */
    depth: number;
    label: string;
    times: number;
    /** Of parts. */
    document?: string;
    at?: string;
    /** Of gaps. */
    rule?: string;
    message?: string;
    of?: number | null;
    first?: number | null;
    query?: string;
  }

  interface Calls {
    operation: string | null;
    count: number;
    accepted: number;
    refused: number;
    limited: number;
    other: number;
    violating: number;
    early: number;
    firstNumber?: number | null;
  }

  interface CallerTotals {
    caller: string;
    calls: Calls[];
    holds: string[];
    needed: string[];
    lacks: string[];
    unneeded: string[];
    restsOn: { called: number; documented: number };
    callsWithoutDocumentedScope: number;
    callsWithUnreadScopes?: number;
    scopes: { scope: string; claimed: object | null }[];
    query?: string | null;
  }

  /** The callers of `contrail audit --format json`. */
  interface Callers {
    n: number;
    callers: CallerTotals[];
  }
}
