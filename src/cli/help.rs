//! `-h`: what a beginner needs, on one screen. `--help` lists every option, by subject.

use std::ffi::OsString;

use clap::{Command, builder::Resettable};

/// What `-h` shows of a command.
struct Short {
    command: &'static str,
    /// The options that a beginner needs, the most important first.
    options: &'static [&'static str],
    examples: [&'static str; 3],
    /// The page of the manual.
    page: &'static str,
}

/// One for every command.
const SHORT: &[Short] = &[
    Short {
        command: "demo",
        options: &["out", "contract", "overlay"],
        examples: ["demo", "demo --out tour", "demo --contract api.yaml"],
        page: "docs/tutorial.md",
    },
    Short {
        command: "record",
        options: &["upstream", "out", "append", "overwrite", "ignore", "contract", "redact", "report", "verbose"],
        examples: [
            "record --upstream https://api.example --out fixtures/shop -- npm test",
            "record --upstream https://api.example --out shop --append -- pytest",
            "record --upstream sandbox --contract api.yaml --out mock -- pytest",
        ],
        page: "docs/clients.md",
    },
    Short {
        command: "watch",
        options: &["upstream", "contract", "verbose", "quiet", "deny", "report", "trail", "enforce", "listen"],
        examples: [
            "watch --upstream https://api.example --verbose -- npm test",
            "watch --upstream https://api.example --contract api.yaml --deny gaps",
            "watch --upstream https://api.example --trail trail -- pytest",
        ],
        page: "docs/clients.md",
    },
    Short {
        command: "replay",
        options: &["contract", "ignore", "record-missing", "upstream", "deny", "report", "verbose", "direct", "listen"],
        examples: [
            "replay fixtures/shop -- npm test",
            "replay shop.har --ignore query:cursor --report junit=a.xml -- pytest",
            "replay shop.har --record-missing --upstream https://api.example",
        ],
        page: "docs/ci.md",
    },
    Short {
        command: "verify",
        options: &["contract", "overlay", "deny", "allow", "baseline", "report", "format", "head", "jwks"],
        examples: [
            "verify fixtures/shop",
            "verify browser.har --contract api.yaml --deny gaps",
            "verify fixtures --report html=report.html",
        ],
        page: "docs/rules.md",
    },
    Short {
        command: "audit",
        options: &["since", "until", "client", "operation", "head", "contract", "deny", "report", "format"],
        examples: [
            "audit trail",
            "audit trail --since 2026-01-31 --client checkout",
            "audit trail --head heads.txt --report html=audit.html",
        ],
        page: "docs/audit.md",
    },
    Short {
        command: "learn",
        options: &["out", "overwrite", "contract", "overlay", "format"],
        examples: [
            "learn fixtures/shop",
            "learn trail --out learned.yaml",
            "learn trail --contract api.yaml --out learned.yaml --overwrite",
        ],
        page: "docs/learn.md",
    },
    Short {
        command: "coverage",
        options: &["contract", "overlay", "min-coverage", "report", "format"],
        examples: [
            "coverage fixtures",
            "coverage fixtures --contract api.yaml --min-coverage operations=0.8",
            "coverage fixtures --report html=coverage.html",
        ],
        page: "docs/contracts.md",
    },
    Short {
        command: "export",
        options: &["parquet", "overwrite", "since", "until", "client", "operation", "head", "contract"],
        examples: [
            "export trail --parquet tables",
            "export trail --parquet tables --since 2026-01-31 --overwrite",
            "export fixtures --parquet tables --contract api.yaml",
        ],
        page: "docs/queries.md",
    },
    Short {
        command: "diff",
        options: &["ignore", "contract", "overlay", "report", "format"],
        examples: [
            "diff old.har new.har",
            "diff fixtures/january fixtures/february --ignore pointer:/updated_at",
            "diff --contract old.yaml --contract new.yaml fixtures",
        ],
        page: "docs/contracts.md",
    },
    Short {
        command: "ignore",
        options: &["suggest", "contract", "overlay"],
        examples: [
            "ignore --suggest january.har february.har",
            "ignore --suggest fixtures/one fixtures/two --contract api.yaml",
            "ignore --suggest one two --contract api.yaml --overlay fixed.yaml",
        ],
        page: "docs/fixtures.md",
    },
    Short {
        command: "contract",
        options: &["contract", "overlay", "check", "export", "format"],
        examples: [
            "contract",
            "contract --contract api.yaml --check",
            "contract --contract api.yaml --overlay learned.yaml --export all.yaml",
        ],
        page: "docs/contracts.md",
    },
    Short {
        command: "explain",
        options: &["contract", "overlay", "format"],
        examples: ["explain", "explain request.body", "explain request.body --contract api.yaml"],
        page: "docs/rules.md",
    },
    Short {
        command: "scan",
        options: &["env", "redact", "report", "format"],
        examples: ["scan fixtures", "scan fixtures --env API_TOKEN", "scan browser.har --redact personal"],
        page: "docs/redaction.md",
    },
    Short {
        command: "redact",
        options: &["out", "in-place", "overwrite", "check", "redact", "contract"],
        examples: [
            "redact browser.har --out clean.har",
            "redact fixtures --in-place --redact pointer:/email",
            "redact fixtures --check",
        ],
        page: "docs/redaction.md",
    },
    Short {
        command: "inspect",
        options: &["contract", "at", "base", "where", "follow", "client", "operation", "listen"],
        examples: [
            "inspect fixtures/shop",
            "inspect browser.har --contract api.yaml --where verdict:violates",
            "inspect new.har --base old.har",
        ],
        page: "docs/inspect.md",
    },
    Short {
        command: "show",
        options: &["full", "raw", "contract", "overlay"],
        examples: ["show shop.har", "show shop.har 'GET /orders'", "show browser.har 3 --contract api.yaml --full"],
        page: "docs/fixtures.md",
    },
    Short {
        command: "import",
        options: &["out", "append", "overwrite", "upstream", "contract", "redact", "keep", "keep-host"],
        examples: [
            "import browser.har --out fixtures/shop",
            "import browser.har --out shop.har --upstream https://api.example",
            "import tests/cassettes --out fixtures",
        ],
        page: "docs/fixtures.md",
    },
    Short {
        command: "pack",
        options: &["out", "overwrite", "contract"],
        examples: [
            "pack fixtures/shop --out shop.har",
            "pack trail --out trail.har",
            "pack trail --out trail.har --overwrite",
        ],
        page: "docs/fixtures.md",
    },
    Short {
        command: "unpack",
        options: &["out", "overwrite", "contract"],
        examples: [
            "unpack shop.har --out fixtures/shop",
            "unpack trail --out fixtures/trail",
            "unpack shop.har --out fixtures/shop --overwrite",
        ],
        page: "docs/fixtures.md",
    },
    Short {
        command: "merge",
        options: &["out", "contract"],
        examples: [
            "merge fixtures/shop fixtures/pay --out fixtures/all",
            "merge a.har b.har --out both.har",
            "merge base.har ours.har theirs.har",
        ],
        page: "docs/ci.md",
    },
    Short {
        command: "unused",
        options: &["used", "prune", "format", "contract"],
        examples: [
            "unused fixtures/shop --used a.json",
            "unused fixtures --used a.json --used b.json",
            "unused shop.har --used a.json --used b.json --prune",
        ],
        page: "docs/ci.md",
    },
    Short {
        command: "sandbox",
        options: &["contract", "overlay", "listen", "misbehave", "seed", "print-seed", "seed-number", "explain"],
        examples: [
            "sandbox",
            "sandbox --contract api.yaml --listen 127.0.0.1:9000",
            "sandbox --misbehave response.body=0.1",
        ],
        page: "docs/sandbox.md",
    },
    Short {
        command: "config",
        options: &["format", "config", "no-config"],
        examples: ["config", "config record", "config verify --no-config"],
        page: "docs/configuration.md",
    },
    Short {
        command: "completions",
        options: &[],
        examples: ["completions bash", "completions zsh", "completions fish"],
        page: "docs/configuration.md",
    },
    Short {
        command: "ca",
        options: &["upstream", "intercept", "ca-dir", "format"],
        examples: ["ca", "ca --upstream https://api.example", "ca rotate"],
        page: "docs/clients.md",
    },
];

/// What `-h` shows of options whose value or text in `--help` is longer than its screen bears.
const IN_SHORT: &[(&str, &str, &str)] = &[
    ("at", "N", "Entry to open first"),
    ("base", "OLD", "Older recording to compare with"),
    ("check", "", "Write nothing; exit status 1 if anything is wrong"),
    ("contract", "FILE", "OpenAPI document of your API; repeatable"),
    ("deny", "RULE", "Also fail on this rule, or on every gap (`gaps`)"),
    ("direct", "HOST", "Let CMD reach this host without contrail"),
    ("enforce", "", "Hold messages until they are judged, and replace what violates"),
    ("explain", "", "List the choices that the tenant's document leaves open, and exit"),
    ("head", "FILE", "Heads that the trail's hash chain must contain"),
    ("ignore", "WHAT", "Do not compare `query:NAME`, `pointer:/a/b` or `body`"),
    ("keep", "STATUS", "Keep transient responses, such as `429`"),
    ("listen", "ADDR", "Address to listen on, such as 127.0.0.1:8080"),
    ("min-coverage", "PART=SHARE", "Fail if less is touched, as in `operations=0.8`"),
    ("misbehave", "RULE[=RATE]", "Violate a documented rule on purpose"),
    ("out", "PATH", "Path to write to"),
    ("overlay", "FILE", "OpenAPI Overlay to apply to the contract; repeatable"),
    ("overwrite", "", "Replace what exists"),
    ("record-missing", "", "Forward what was not recorded to --upstream, and record it"),
    ("redact", "WHAT", "Redact `pointer:/a`, `header:NAME`, `regex:…` or `personal`, too"),
    ("report", "FORMAT[=FILE]", "Write html, markdown, junit, sarif, github, json, csv or text"),
    ("trail", "DIR", "Keep the exchanges as an audit trail in this folder"),
    ("upstream", "URL", "Origin of the tenant, or `sandbox` for the embedded one"),
    ("verbose", "", "Print the message of each finding"),
];

/// Words of other tools for what a command here does.
const SYNONYMS: [(&[&str], &str); 12] = [
    (
        &["validate", "check", "lint", "test"],
        "`contrail verify` checks recordings, `contrail contract --check` a contract",
    ),
    (&["mock", "stub"], "`contrail sandbox --contract FILE` serves a mock"),
    (&["serve", "server", "start"], "`contrail replay` serves recordings, `contrail sandbox` a mock"),
    (&["playback", "play"], "`contrail replay` serves recordings"),
    (&["proxy", "run", "monitor", "listen"], "`contrail record` and `contrail watch` are the proxy"),
    (&["capture", "save"], "`contrail record` writes a fixture"),
    (
        &["view", "open", "ui", "web"],
        "`contrail inspect` shows recordings in the browser, `contrail show` on the terminal",
    ),
    (&["convert"], "`contrail import` reads other tools' recordings"),
    (&["compare"], "`contrail diff` compares recordings, and contracts"),
    (&["mask", "sanitize", "clean", "anonymize"], "`contrail redact` removes secrets"),
    (&["settings", "init", "options"], "`contrail config` prints the settings in force"),
    (&["version"], "`contrail --version` prints it"),
];

/// The command of this tool that another tool calls so.
pub(super) fn synonym(word: &str) -> Option<&'static str> {
    SYNONYMS.iter().find(|(words, _)| words.contains(&word)).map(|(_, ours)| *ours)
}

/// Gives each command its examples and its page of the manual.
pub(super) fn with_examples(command: Command) -> Command {
    let ends = "Start with `contrail demo` or docs/tutorial.md. `contrail COMMAND -h` fits on a screen, and \
                `contrail COMMAND --help` lists every option.";
    command.after_help(ends).mut_subcommands(|sub| match of(&sub) {
        Some(short) => {
            let examples = examples(short);
            sub.after_help(format!("{examples}\nManual: {}", short.page))
        }
        None => sub,
    })
}

fn examples(short: &Short) -> String {
    format!("Examples:\n  contrail {}\n", short.examples.join("\n  contrail "))
}

fn of(sub: &Command) -> Option<&'static Short> {
    SHORT.iter().find(|short| short.command == sub.get_name())
}

/// The command whose `-h` fits on a screen.
pub(super) fn shortened(command: Command) -> Command {
    command.mut_subcommands(|sub| {
        let Some(short) = of(&sub) else { return sub.mut_args(|arg| arg.hide_short_help(true)) };
        let name = short.command;
        let end = format!("{}\nEvery option: `contrail {name} --help`. Manual: {}", examples(short), short.page);
        sub.after_help(end).mut_args(|arg| {
            let Some(long) = arg.get_long() else { return arg };
            let Some(at) = short.options.iter().position(|option| *option == long) else {
                return arg.hide_short_help(true);
            };
            let text = IN_SHORT.iter().find(|(option, ..)| *option == long);
            let arg = arg.hide_env(true).help_heading(Resettable::Reset).display_order(at);
            match text {
                Some((_, value, text)) if arg.get_action().takes_values() => arg.value_name(*value).help(*text),
                Some((.., text)) => arg.help(*text),
                None => arg,
            }
        })
    })
}

/// Whether these arguments ask for the short help; what follows `--` belongs to CMD.
pub(super) fn is_short(arguments: &[OsString]) -> bool {
    arguments.iter().take_while(|argument| *argument != "--").any(|argument| argument == "-h")
}
