//! Which format a report is written in.

use std::io::{self, Write};

use contrail_redact::Redactor;

use super::{
    Collector, Facts, ReportFormat,
    cases::{self, Suite},
    csv::Csv,
    github, html, json, junit, markdown,
    page::Page,
    sarif, text,
};

/// Where a text is read.
#[derive(Debug, Clone, Copy, Default)]
pub struct Screen {
    /// It shows colours.
    pub colour: bool,
    /// It is a terminal, whose reader wants no whole hashes.
    pub terminal: bool,
}

impl Screen {
    /// As much of a hash as a person compares by eye; all of it where a file or a program takes it.
    #[must_use]
    pub fn hash(self, hash: &str) -> &str {
        hash.get(..12).filter(|_| self.terminal).unwrap_or(hash)
    }
}

impl Collector {
    /// Writes a report of everything that is decided. A value that `redactor` recognised as a secret after its exchange
    /// was taken is replaced here.
    ///
    /// # Errors
    ///
    /// `to` or the temporary file of the JSON report failed.
    pub fn write(
        &mut self,
        kind: ReportFormat,
        redactor: &Redactor,
        to: &mut dyn Write,
        screen: Screen,
    ) -> io::Result<()> {
        let (facts, exchanges) = self.facts(redactor);
        match kind {
            ReportFormat::Text => text::write(&facts, to, screen),
            ReportFormat::Json => json::write(&facts, exchanges, redactor, to),
            _ => Report { page: Page::of(&facts, kind), suites: cases::of(&facts) }.write(kind, &facts, to),
        }
    }
}

/// A result in the two shapes that every command shares: a page, and cases.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) page: Page,
    pub(super) suites: Vec<Suite>,
}

impl Report {
    /// Writes it; text and JSON are the command's own.
    pub(super) fn write(&self, kind: ReportFormat, facts: &Facts<'_>, to: &mut dyn Write) -> io::Result<()> {
        match kind {
            ReportFormat::Text | ReportFormat::Json => Ok(()),
            ReportFormat::Html => html::write(&self.page, to),
            ReportFormat::Markdown => markdown::write(&self.page, to),
            ReportFormat::Junit => junit::write(facts, &self.suites, to),
            ReportFormat::Sarif => sarif::write(facts, &self.suites, to),
            ReportFormat::Github => github::write(&self.suites, to),
            ReportFormat::Csv => Csv::of(&self.suites).write(to),
        }
    }
}
