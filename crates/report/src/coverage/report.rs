//! The report of `contrail coverage`: which parts of the contract recordings touch, and which they never do.

use std::io::{self, Write};

use contrail_exchange::{plural::plural, visible::visible};
use serde_json::{Map, Value, json};

use crate::coverage::{Counts, Coverage, Item, Minimum, Part};
use crate::{
    Exit, Reason, ReportFormat, Title, Unread,
    cases::{Level, Suite, Trouble},
    csv::Csv,
    page::{MAX_ROWS, Page, Part as Section, text},
    plain, touched,
};

/// Maximum untouched parts of one kind that have a case of their own.
const MAX_CASES: usize = 1000;

/// What a report of coverage is written from.
#[derive(Debug)]
pub struct Covered<'a> {
    /// The contract in force.
    pub title: Title,
    /// Its parts.
    pub coverage: &'a Coverage,
    /// The recordings that were read.
    pub files: Vec<String>,
    /// Their entries that could not be read.
    pub unreadable: Unread,
    /// What has to be reached.
    pub minimums: &'a [Minimum],
}

impl Coverage {
    /// The parts of the contract by kind, as the JSON report has them.
    #[must_use]
    pub fn json(&self) -> Value {
        let kind = |part: Part| {
            let each = self.each(part).map(|Item { document, at, name, times }| {
                json!({"name": name, "document": document.name(), "at": at, "times": times})
            });
            let Counts { touched, of } = self.counts(part);
            (part.name().to_owned(), json!({"touched": touched, "of": of, "each": each.collect::<Vec<_>>()}))
        };
        Part::ALL.into_iter().map(kind).collect()
    }
}

impl Covered<'_> {
    /// The minimums that are not reached.
    pub fn below(&self) -> impl Iterator<Item = (&Minimum, Counts)> {
        let counted = self.minimums.iter().map(|minimum| (minimum, self.coverage.counts(minimum.part)));
        counted.filter(|(minimum, counts)| !minimum.is_met(*counts))
    }

    /// Writes a report.
    ///
    /// # Errors
    ///
    /// Those of `to`.
    pub fn write(&self, kind: ReportFormat, to: &mut dyn Write) -> io::Result<()> {
        match kind {
            ReportFormat::Text => self.text(to),
            ReportFormat::Json => writeln!(to, "{:#}", self.json()),
            ReportFormat::Csv => self.csv().write(to),
            _ => {
                let fill = |page: &mut Page| {
                    page.sentences.push(vec![text(format!("{}.", self.exchanges("")))]);
                    page.sentences.extend(self.below().map(|below| vec![text(sentence(below))]));
                    let kinds = Part::ALL.into_iter().map(|part| (part, self.coverage.counts(part)));
                    let tree = touched::tree(self.coverage, kinds, MAX_ROWS);
                    page.parts.extend(Section::tree("Coverage", tree));
                    Part::ALL.map(|part| self.suite(part)).into()
                };
                plain::write(kind, &self.title, &self.files, &self.exit(), fill, to)
            }
        }
    }

    /// Status 2 where there was no exchange or an entry could not be read, else 1 where a minimum is not reached.
    #[must_use]
    pub fn exit(&self) -> Exit {
        let nothing = (self.coverage.exchanges() == 0).then_some("there was no exchange to count");
        plain::exit(nothing, self.unreadable, self.below().map(|below| Reason::shown("coverage", sentence(below))))
    }

    /// How many there are, `of` something.
    fn exchanges(&self, of: &str) -> String {
        let undocumented = self.coverage.undocumented();
        let exchanges = format!("{}{of}", plural(self.coverage.exchanges(), "exchange"));
        if undocumented == 0 { exchanges } else { format!("{exchanges}, {undocumented} of undocumented operations") }
    }

    fn text(&self, to: &mut dyn Write) -> io::Result<()> {
        let Title { title, version, .. } = &self.title;
        writeln!(to, "{}", self.exchanges(&format!(" of {} {}", visible(title), visible(version))))?;
        for part in Part::ALL {
            let Counts { touched, of } = self.coverage.counts(part);
            writeln!(to, "  {:<12} {touched:>5} of {of}", part.name())?;
        }
        for part in Part::ALL {
            for (at, name) in self.coverage.untouched(part).enumerate() {
                if at == 0 {
                    writeln!(to, "\nnever touched: {}", part.name())?;
                }
                writeln!(to, "  {}", visible(name))?;
            }
        }
        for (at, below) in self.below().enumerate() {
            let line = if at == 0 { "\n" } else { "" };
            writeln!(to, "{line}{}", sentence(below))?;
        }
        if let Some((status, reasons)) = self.exit().in_words() {
            writeln!(to, "\n{status}: {reasons}")?;
        }
        Ok(())
    }

    fn json(&self) -> Value {
        let mut summary = Map::new();
        summary.insert("exchanges".to_owned(), self.coverage.exchanges().into());
        summary.insert("undocumented".to_owned(), self.coverage.undocumented().into());
        let below: Vec<Value> = self
            .below()
            .map(|(minimum, Counts { touched, of })| {
                json!({"part": minimum.part.name(), "minimum": minimum.share, "touched": touched, "of": of})
            })
            .collect();
        let Title { title, version, hash, .. } = &self.title;
        json!({
            "contract": {"title": title, "version": version, "hash": hash},
            "files": self.files,
            "summary": summary,
            "parts": self.coverage.json(),
            "below": below,
            "exit": self.exit(),
        })
    }

    fn csv(&self) -> Csv {
        let rows = Part::ALL.into_iter().flat_map(|part| {
            self.coverage.each(part).map(move |Item { document, at, name, times }| {
                [part.name(), name, &times.to_string(), document.name(), at].map(str::to_owned).into()
            })
        });
        Csv { columns: &["part", "name", "times", "document", "at"], rows: rows.collect() }
    }

    /// One case that the minimum is reached, and one for each part that was never touched.
    fn suite(&self, part: Part) -> Suite {
        let mut suite = Suite::new(format!("coverage of {}", part.name()));
        let Counts { touched, of } = self.coverage.counts(part);
        suite.count("touched", touched);
        suite.count("of", of);
        let name = "enough is touched";
        match self.below().find(|(minimum, _)| minimum.part == part) {
            Some(below) => suite.add(name, Trouble::new(Level::Failure, "coverage", sentence(below))),
            None => suite.pass(name, std::time::Duration::ZERO),
        }
        for name in self.coverage.untouched(part).take(MAX_CASES) {
            suite.add_again(name.to_owned(), Trouble::new(Level::Note, "untouched", "no exchange touches it"));
        }
        suite
    }
}

/// `operations: 3 of 7 touched, --min-coverage asks for 0.8`.
fn sentence((minimum, Counts { touched, of }): (&Minimum, Counts)) -> String {
    format!("{}: {touched} of {of} touched, --min-coverage asks for {}", minimum.part.name(), minimum.share)
}
