//! Reports of commands that judge nothing: what they found, as a page and as cases.

use std::io::{self, Write};

use super::{
    Cited, Exemptions, Exit, Facts, Reason, ReportFormat, Run, Tally, Title, cases::Suite, page::Page, rendered::Report,
};

impl Cited {
    /// An entry of which only the request's line and the status are known.
    pub(super) fn of(source: &str, entry: usize, request: &str, status: u16) -> Self {
        let (method, url) = request.split_once(' ').unwrap_or(("", request));
        let (method, url) = (method.to_owned(), url.to_owned());
        Self { source: source.to_owned(), entry, method, url, status, ..Self::default() }
    }
}

/// Writes a report of such a command, in a format that is not its own. `found` is whether it ends with status 1.
pub(super) fn write(
    kind: ReportFormat,
    heading: &str,
    sources: &[String],
    found: bool,
    fill: impl FnOnce(&mut Page) -> Vec<Suite>,
    to: &mut dyn Write,
) -> io::Result<()> {
    let title = Title { title: heading.to_owned(), ..Title::default() };
    let reasons = if found { vec![Reason::shown("findings", heading)] } else { Vec::new() };
    with_reasons(kind, &title, sources, reasons, fill, to)
}

/// The same under a title, with the reasons for status 1.
pub(super) fn with_reasons(
    kind: ReportFormat,
    title: &Title,
    sources: &[String],
    reasons: Vec<Reason>,
    fill: impl FnOnce(&mut Page) -> Vec<Suite>,
    to: &mut dyn Write,
) -> io::Result<()> {
    let mut run = Run::default();
    run.exit = Some(Exit { status: u8::from(!reasons.is_empty()), reasons });
    let facts = Facts {
        title,
        contract: None,
        tally: &Tally::default(),
        coverage: None,
        stripped: &[],
        failing: &[],
        exemptions: &Exemptions::default(),
        run: &run,
        sources,
        upstream: None,
        made: String::new(),
    };
    let mut page = Page::about(&facts);
    let suites = fill(&mut page);
    Report { page, suites }.write(kind, &facts, to)
}
