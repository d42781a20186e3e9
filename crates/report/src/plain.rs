//! Reports of commands that judge nothing: what they found, as a page and as cases.

use std::io::{self, Write};

use super::{
    Cited, Exemptions, Exit, Facts, Reason, ReportFormat, Run, Tally, Title, Unread,
    cases::{self, Suite},
    page::Page,
    rendered::Report,
};

impl Cited {
    /// An entry of which only the request's line and the status are known.
    pub(super) fn of(source: &str, entry: usize, request: &str, status: u16) -> Self {
        let (method, url) = request.split_once(' ').unwrap_or(("", request));
        let (method, url) = (method.to_owned(), url.to_owned());
        Self { source: source.to_owned(), entry, method, url, status, ..Self::default() }
    }
}

/// The exit status of such a command: 2 if there was nothing to do its work with, or so many entries could not be read,
/// 1 if it found something.
pub(super) fn exit(nothing: Option<&str>, unreadable: Unread, found: impl IntoIterator<Item = Reason>) -> Exit {
    let nothing = nothing.map(|what| Reason::new("nothing-checked", what, ""));
    let mut reasons: Vec<Reason> = nothing.into_iter().chain(Reason::unreadable(unreadable)).collect();
    let failed = !reasons.is_empty();
    reasons.extend(found);
    Exit { status: if failed { 2 } else { u8::from(!reasons.is_empty()) }, reasons }
}

/// Writes a report of such a command, in a format that is not its own.
pub(super) fn write(
    kind: ReportFormat,
    title: &Title,
    sources: &[String],
    exit: &Exit,
    fill: impl FnOnce(&mut Page) -> Vec<Suite>,
    to: &mut dyn Write,
) -> io::Result<()> {
    let mut run = Run::default();
    run.exit = Some(exit.clone());
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
    let mut suites = fill(&mut page);
    suites.extend(cases::exit(&facts));
    Report { page, suites }.write(kind, &facts, to)
}
