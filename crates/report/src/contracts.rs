//! What changed between two contracts, and which recorded exchanges conform to the old one and violate the new one.
//!
//! Takes redacted exchanges only. Knows nothing of files or arguments.

use std::{
    collections::BTreeMap,
    io::{self, Write},
    time::Duration,
};

use contrail_contract::compare::{Change, Impact};
use contrail_exchange::{
    finding::{Finding, Kind, Rule, UNDOCUMENTED},
    plural::plural,
    visible::visible,
};
use contrail_redact::{JudgedExchange, Redacted, Redactor};
use serde_json::{Value, json};

use super::{
    Cited, ExchangeRef, Exit, Reason, ReportFormat, Title, Unread,
    cases::{Level, Suite, Trouble},
    page::{Part, Piece, Tone, code, text},
    plain,
};

/// What distinguishes two contracts.
#[derive(Debug)]
pub struct Changes {
    /// The file and the title of the old contract, and of the new one.
    pub contracts: [(String, Title); 2],
    /// What changed.
    pub changes: Vec<Change>,
    /// The recordings that were judged under both.
    pub recordings: Vec<String>,
    /// How many exchanges they hold.
    pub exchanges: u64,
    /// Their entries that could not be read.
    pub unreadable: Unread,
    /// How many violate the old contract and not the new one.
    pub no_longer_failing: u64,
    /// Those that violate the new contract and not the old one.
    pub failing: Vec<Failing>,
}

/// An exchange that violates the new contract and not the old one.
#[derive(Debug)]
pub struct Failing {
    cited: Cited,
    operation: Option<String>,
    violations: Vec<Violation>,
}

#[derive(Debug)]
struct Violation {
    rule: Rule,
    at: String,
    message: String,
}

impl Failing {
    /// An exchange with its verdict under the new contract.
    #[must_use]
    pub fn new(place: ExchangeRef<'_>, operation: Option<&str>, judged: &Redacted<JudgedExchange>) -> Self {
        let findings = judged.verdict.findings.iter().filter(|finding| finding.kind() == Kind::Violation);
        let violation =
            |finding: &Finding| Violation { rule: finding.rule, at: finding.at.clone(), message: finding.message() };
        Self {
            cited: Cited::new(place, judged),
            operation: operation.map(str::to_owned),
            violations: findings.map(violation).collect(),
        }
    }
}

impl Changes {
    fn count(&self, impact: Impact) -> usize {
        self.changes.iter().filter(|change| change.impact == impact).count()
    }

    /// Whether a change breaks, or an exchange would fail now.
    #[must_use]
    pub fn breaks(&self) -> bool {
        self.count(Impact::Breaking) > 0 || !self.failing.is_empty()
    }

    /// Takes out secrets that were recognised later.
    pub fn redact(&mut self, redactor: &Redactor) {
        for one in &mut self.failing {
            one.cited.redact(redactor);
            for text in one.violations.iter_mut().flat_map(|found| [&mut found.at, &mut found.message]) {
                *text = redactor.text(text).into_inner();
            }
        }
    }

    fn summary(&self) -> String {
        let [(_, old), (_, new)] = &self.contracts;
        let mut parts = vec![match self.changes.len() {
            0 if old.hash == new.hash => "the two contracts are the same".to_owned(),
            0 => "no change that the check sees; the documents differ in other places".to_owned(),
            all => {
                let counts = Impact::ALL.map(|impact| format!("{} {}", self.count(impact), impact.name()));
                format!("{}: {}", plural(all, "change"), counts.join(", "))
            }
        }];
        if !self.recordings.is_empty() {
            let all = plural(self.exchanges, "exchange");
            parts.push(format!("{} of {all} would now fail", self.failing.len()));
        }
        if self.no_longer_failing > 0 {
            parts.push(format!("{} would no longer fail", self.no_longer_failing));
        }
        parts.join("; ")
    }

    /// Writes a report.
    ///
    /// # Errors
    ///
    /// `to` failed.
    pub fn write(&self, kind: ReportFormat, to: &mut dyn Write) -> io::Result<()> {
        match kind {
            ReportFormat::Text => self.text(to),
            ReportFormat::Json => writeln!(to, "{:#}", self.json()),
            _ => {
                let names = self.contracts.iter().map(|(name, _)| name);
                let sources: Vec<String> = names.chain(&self.recordings).cloned().collect();
                let fill = |page: &mut super::page::Page| {
                    page.sentences.push(vec![text(format!("{}.", self.summary()))]);
                    page.parts.extend(Impact::ALL.into_iter().filter_map(|impact| self.part(impact)));
                    page.parts.extend(self.failing_part());
                    self.suites()
                };
                let title = Title::named("Changes between two contracts");
                plain::write(kind, &title, &sources, &self.exit(), fill, to)
            }
        }
    }

    /// Status 2 where recordings hold no exchange or an entry could not be read, else 1 where a change breaks.
    #[must_use]
    pub fn exit(&self) -> Exit {
        let nothing = !self.recordings.is_empty() && self.exchanges == 0;
        let nothing = nothing.then_some("there was no exchange to judge");
        plain::exit(nothing, self.unreadable, self.breaks().then(|| Reason::shown("findings", self.summary())))
    }

    fn text(&self, to: &mut dyn Write) -> io::Result<()> {
        for impact in Impact::ALL {
            let mut changes = self.changes.iter().filter(|change| change.impact == impact).peekable();
            if changes.peek().is_some() {
                writeln!(to, "{}", heading(impact))?;
            }
            let mut previous = None;
            for change in changes {
                if previous != Some(&change.operation) {
                    writeln!(to, "  {}", visible(operation(change)))?;
                    previous = Some(&change.operation);
                }
                let place = if change.place.is_empty() { String::new() } else { format!("{}: ", change.place) };
                writeln!(to, "    {}{} ({})", visible(&place), visible(&change.message), change.kind)?;
            }
            if previous.is_some() {
                writeln!(to)?;
            }
        }
        if !self.failing.is_empty() {
            writeln!(to, "{FAILING}")?;
        }
        for Failing { cited, operation, violations } in &self.failing {
            writeln!(to, "  {}", visible(&cited.to_string()))?;
            for Violation { rule, at, message } in violations {
                let at = if at.is_empty() { String::new() } else { format!(" at {at}") };
                let operation = operation.as_ref().map(|operation| format!("{operation}: ")).unwrap_or_default();
                writeln!(to, "    {}", visible(&format!("{operation}{}{at}: {message}", rule.id())))?;
            }
        }
        if !self.failing.is_empty() {
            writeln!(to)?;
        }
        writeln!(to, "{}", visible(&self.summary()))?;
        if let Some((status, reasons)) = self.exit().in_words() {
            writeln!(to, "{status}: {}", visible(&reasons))?;
        }
        Ok(())
    }

    fn json(&self) -> Value {
        let contract = |(name, title): &(String, Title)| json!({"name": name, "title": title.title, "version": title.version, "sha256": title.hash});
        let change = |change: &Change| {
            json!({
                "impact": change.impact.name(), "kind": change.kind, "operation": change.operation.as_deref(),
                "place": change.place, "message": change.message,
            })
        };
        let violation = |found: &Violation| json!({"rule": found.rule.id(), "at": found.at, "message": found.message});
        let failing = |one: &Failing| {
            let mut value = json!(one.cited);
            value["operation"] = json!(one.operation);
            value["violations"] = one.violations.iter().map(violation).collect();
            value
        };
        json!({
            "old": contract(&self.contracts[0]),
            "new": contract(&self.contracts[1]),
            "summary": {
                "breaking": self.count(Impact::Breaking),
                "unclear": self.count(Impact::Unclear),
                "nonBreaking": self.count(Impact::NonBreaking),
                "exchanges": self.exchanges,
                "failing": self.failing.len(),
                "noLongerFailing": self.no_longer_failing,
            },
            "changes": self.changes.iter().map(change).collect::<Vec<_>>(),
            "failing": self.failing.iter().map(failing).collect::<Vec<_>>(),
            "exit": self.exit(),
        })
    }

    fn part(&self, impact: Impact) -> Option<Part> {
        let row = |change: &Change| {
            vec![
                vec![text(operation(change))],
                vec![text(&change.place)],
                vec![text(&change.message)],
                vec![code(&change.kind)],
            ]
        };
        let rows = self.changes.iter().filter(|change| change.impact == impact).map(row).collect();
        let tone = match impact {
            Impact::Breaking => Tone::Bad,
            Impact::Unclear => Tone::Gap,
            Impact::NonBreaking => Tone::Plain,
        };
        Part::table(tone, heading(impact), &["operation", "at", "change", "kind"], rows)
    }

    fn failing_part(&self) -> Option<Part> {
        let row = |(one, found): (&Failing, &Violation)| {
            vec![
                vec![Piece::Code(Tone::Bad, found.rule.id().to_owned())],
                vec![text(one.operation.as_deref().unwrap_or_default())],
                vec![code(&found.at)],
                vec![text(&found.message)],
                vec![Piece::Text(Tone::Dim, one.cited.to_string())],
            ]
        };
        let all = self.failing.iter().flat_map(|one| one.violations.iter().map(move |found| (one, found)));
        let columns = &["rule", "operation", "at", "message", "exchange"];
        Part::table(Tone::Bad, FAILING, columns, all.map(row).collect())
    }

    /// A suite per operation.
    fn suites(&self) -> Vec<Suite> {
        let mut suites: BTreeMap<&str, Suite> = BTreeMap::new();
        let suite = |name| {
            let mut suite = Suite::new(name);
            suite.pass("compared", Duration::ZERO);
            suite
        };
        for change in &self.changes {
            let name = operation(change);
            let trouble = Trouble::new(
                Level::of(change.impact == Impact::Breaking),
                change.impact.name(),
                format!("{}: {}", change.kind, change.message),
            );
            let at = if change.place.is_empty() { String::new() } else { format!(" at {}", change.place) };
            suites.entry(name).or_insert_with(|| suite(name)).add_again(format!("{}{at}", change.kind), trouble);
        }
        for one in &self.failing {
            let name = one.operation.as_deref().unwrap_or(UNDOCUMENTED);
            let suite = suites.entry(name).or_insert_with(|| suite(name));
            for found in &one.violations {
                let trouble = Trouble::new(Level::Failure, found.rule.id(), &found.message);
                let case = format!("{} {}: {}", one.cited.method, one.cited.url, found.rule.id());
                suite.add_again(case, Trouble { cited: Some(one.cited.clone()), ..trouble });
            }
        }
        suites.into_values().collect()
    }
}

const FAILING: &str = "Recorded exchanges that would now fail";

fn heading(impact: Impact) -> &'static str {
    match impact {
        Impact::Breaking => "Breaking",
        Impact::Unclear => "Unclear: it depends on the client, or the two cannot be compared",
        Impact::NonBreaking => "Non-breaking",
    }
}

fn operation(change: &Change) -> &str {
    change.operation.as_deref().unwrap_or("all operations")
}
