//! The formats that show every command's result alike: as a page, or as cases.

use std::io::{self, Write};

use super::{Facts, Kind, cases::Suite, csv::Csv, github, html, junit, markdown, page::Page, sarif};

/// The result of a command.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) page: Page,
    pub(super) suites: Vec<Suite>,
}

impl Report {
    /// Writes it; text and JSON are the command's own.
    pub(super) fn write(&self, kind: Kind, facts: &Facts<'_>, to: &mut dyn Write) -> io::Result<()> {
        match kind {
            Kind::Text | Kind::Json => Ok(()),
            Kind::Html => html::write(&self.page, to),
            Kind::Markdown => markdown::write(&self.page, to),
            Kind::Junit => junit::write(facts, &self.suites, to),
            Kind::Sarif => sarif::write(facts, &self.suites, to),
            Kind::Github => github::write(&self.suites, to),
            Kind::Csv => Csv::of(&self.suites).write(to),
        }
    }
}
