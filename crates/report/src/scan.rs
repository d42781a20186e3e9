//! Secrets that a scan found: where, of which kind, under which label; never their values.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Write},
};

use contrail_exchange::{plural::plural, visible::visible};
use serde::Serialize;
use serde_json::json;

use super::{
    Cited, Exit, ReportFormat, Title,
    cases::{Level, Suite, Trouble},
    page::{Page, Part, Tone, code, text},
    plain,
};

/// A secret in a file. Names of members and of files may hold secrets themselves, so they are redacted, too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hit {
    /// The file.
    pub source: String,
    /// The line in it.
    pub line: Option<usize>,
    /// JSON pointer or name.
    pub at: Option<String>,
    /// What it is.
    pub kind: &'static str,
    /// The same label is the same secret.
    pub label: String,
}

/// What a scan found.
#[derive(Debug)]
pub struct Scanned {
    /// Files that were searched.
    pub files: usize,
    /// Every place of a secret.
    pub hits: Vec<Hit>,
    /// The exit status of the command.
    pub exit: Exit,
}

impl Scanned {
    /// How many different secrets.
    #[must_use]
    pub fn distinct(&self) -> usize {
        self.hits.iter().map(|hit| &hit.label).collect::<BTreeSet<_>>().len()
    }

    /// The files that hold secrets, also those that could not be searched by their structure.
    fn sources(&self) -> BTreeSet<&str> {
        self.hits.iter().map(|hit| &*hit.source).collect()
    }

    /// `2 secrets in 3 places of 1 file`, which are the files that hold them; `no secret in 1 file`, which are those
    /// that were searched.
    #[must_use]
    pub fn in_words(&self) -> String {
        if self.hits.is_empty() {
            return format!("no secret in {}", plural(self.files, "file"));
        }
        let (secrets, places) = (plural(self.distinct(), "secret"), plural(self.hits.len(), "place"));
        format!("{secrets} in {places} of {}", plural(self.sources().len(), "file"))
    }

    /// Writes a report.
    ///
    /// # Errors
    ///
    /// Those of `to`.
    pub fn write(&self, kind: ReportFormat, to: &mut dyn Write) -> io::Result<()> {
        match kind {
            ReportFormat::Text => self.text(to),
            ReportFormat::Json => {
                let summary = json!({"files": self.files, "hits": self.hits.len()});
                writeln!(to, "{}", json!({"summary": summary, "hits": self.hits, "exit": self.exit}))
            }
            _ => {
                let sources: Vec<String> = self.sources().into_iter().map(str::to_owned).collect();
                let fill = |page: &mut Page| {
                    page.sentences.push(vec![text(format!("{}.", self.in_words()))]);
                    page.parts.extend(self.part());
                    self.suites()
                };
                plain::write(kind, &Title::named("Secrets in recordings"), &sources, &self.exit, fill, to)
            }
        }
    }

    fn text(&self, to: &mut dyn Write) -> io::Result<()> {
        for hit in &self.hits {
            write!(to, "{}", visible(&hit.source))?;
            if let Some(line) = hit.line {
                write!(to, ":{line}")?;
            }
            if let Some(at) = &hit.at {
                write!(to, ": {}", visible(at))?;
            }
            writeln!(to, ": {} ({})", hit.kind, hit.label)?;
        }
        if let Some((status, reasons)) = self.exit.in_words() {
            writeln!(to, "{status}: {}", visible(&reasons))?;
        }
        Ok(())
    }

    fn part(&self) -> Option<Part> {
        let row = |hit: &Hit| {
            vec![
                vec![text(&hit.source)],
                vec![text(hit.line.map(|line| line.to_string()).unwrap_or_default())],
                vec![code(hit.at.as_deref().unwrap_or_default())],
                vec![text(hit.kind)],
                vec![code(&hit.label)],
            ]
        };
        let columns = &["file", "line", "at", "kind", "label"];
        Part::table(Tone::Bad, "Secrets", columns, self.hits.iter().map(row).collect())
    }

    /// A suite per file.
    fn suites(&self) -> Vec<Suite> {
        let mut suites: BTreeMap<&str, Suite> = BTreeMap::new();
        for hit in &self.hits {
            let suite = suites.entry(&hit.source).or_insert_with(|| Suite::new(&hit.source));
            let at = hit.at.as_ref().map(|at| format!(" at {at}")).unwrap_or_default();
            let message = format!("a secret of the kind {} ({}); `contrail redact` takes it out", hit.kind, hit.label);
            let cited = Cited { source: hit.source.clone(), line: hit.line, ..Cited::default() };
            let trouble = Trouble::new(Level::Failure, "secret", message);
            suite.add_again(format!("{}{at}", hit.kind), Trouble { cited: Some(cited), ..trouble });
        }
        suites.into_values().collect()
    }
}
