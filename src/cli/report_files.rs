//! The files of `--report`: checked before a command opens anything, and written at its end. None may replace a file
//! that the command reads or writes otherwise; nor may what other options write.

use std::{
    fs,
    io::{self, IsTerminal as _, Write as _},
    path::{Path, PathBuf},
};

use contrail_contract::upstream_of;
use contrail_exchange::visible::visible;
use contrail_recording::{self as recording, FixturePath, Journal, SetAside, resolved};
use contrail_redact::{Plan, Redactor};
use contrail_report::{Collector, Exit, Reason, ReportFormat, Request, Screen, Title};

use super::{
    ContractArgs, Failure, Format, Outcome,
    kinds::FileKind,
    messages::error_chain,
    printer::{Printer, private_file, write_whole},
};
use crate::config;

/// What a command reads or writes besides its reports, and what it is called in messages.
#[derive(Debug, Default)]
pub(super) struct Used {
    places: Vec<(&'static str, PathBuf, Extent)>,
}

/// Which files a place stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// This one.
    File,
    /// It and every file below it.
    Tree,
    /// It, and the recordings and body files in it or beside it.
    Recording,
}

impl Used {
    /// A file.
    pub(super) fn file(&mut self, what: &'static str, path: &Path) {
        self.places.push((what, path.to_owned(), Extent::File));
    }

    /// Files.
    pub(super) fn files(&mut self, what: &'static str, paths: impl IntoIterator<Item = impl AsRef<Path>>) {
        for path in paths {
            self.file(what, path.as_ref());
        }
    }

    /// A folder with all that is in it.
    pub(super) fn tree(&mut self, what: &'static str, path: &Path) {
        self.places.push((what, path.to_owned(), Extent::Tree));
    }

    /// A recording that is read: a file, or a folder.
    pub(super) fn recording(&mut self, path: &Path) {
        self.places.push(("recording", path.to_owned(), Extent::Recording));
    }

    /// Recordings that are read; `-` is standard input.
    pub(super) fn recordings(&mut self, named: &[PathBuf]) {
        for named in named.iter().filter(|named| named.as_os_str() != "-") {
            self.recording(named);
        }
    }

    /// The files of the contract.
    pub(super) fn contract(&mut self, args: &ContractArgs) {
        self.files("contract", args.contract.iter().map(|file| upstream_of(file).1));
        self.files("contract", &args.overlay);
    }

    /// A fixture that is written, and its journals.
    pub(super) fn fixture(&mut self, path: &Path) {
        self.places.push(("fixture", path.to_owned(), Extent::Recording));
        if let Ok(place) = FixturePath::find(path) {
            self.file("fixture", place.har());
        }
        let journal = Journal::path_for(path);
        for aside in [SetAside::Before, SetAside::Failed] {
            for path in aside.all(&journal).into_iter().chain([aside.path(&journal, 1)]) {
                self.file("journal", &path);
            }
        }
        self.file("journal", &journal);
    }

    /// Refuses a file that an option is to write, if it is one of these.
    ///
    /// # Errors
    ///
    /// Which one it is.
    pub(super) fn spare(&mut self, option: &str, path: &Path) -> Result<(), Failure> {
        self.file("settings file", config::FILE.as_ref());
        let Some((what, place)) = self.holder(&resolved(path)) else { return Ok(()) };
        let (shown, place) = (path.display(), place.display());
        Err(format!("{option}: {shown} belongs to the {what} `{place}`, and would be replaced; name another file")
            .into())
    }

    /// The place that a file, without links, belongs to, and what it is called.
    fn holder(&self, file: &Path) -> Option<(&'static str, &Path)> {
        let mut places = self.places.iter();
        places.find(|(_, place, extent)| is_in(file, place, *extent)).map(|(what, place, _)| (*what, place.as_path()))
    }
}

/// Checks that each report can be written, and that it replaces nothing else. Then each says that the command did not
/// end, until its end replaces that.
///
/// # Errors
///
/// A report names a file that is `used`, the file of another report, or one that cannot be written.
pub(super) fn check(reports: &[Request], used: &mut Used) -> Result<(), Failure> {
    used.file("settings file", config::FILE.as_ref());
    let mut checked = Vec::new();
    let mut earlier: Vec<PathBuf> = Vec::new();
    for request in reports {
        let Some(path) = request.file.as_deref() else { continue };
        // A terminal or a pipe takes any number of reports, and probing it would write to its reader.
        if fs::metadata(path).is_ok_and(|file| !file.is_file() && !file.is_dir()) {
            continue;
        }
        let report = resolved(path);
        let shown = path.display();
        if let Some((what, place)) = used.holder(&report) {
            return Err(format!(
                "--report: {shown} belongs to the {what} `{}`, and the report would replace it; name another file",
                place.display()
            )
            .into());
        }
        if let Some(kind) = FileKind::at(path).filter(|kind| *kind != FileKind::Other) {
            let kind = kind.name();
            return Err(
                format!("--report: {shown} is {kind}, and the report would replace it; name another file").into()
            );
        }
        if earlier.contains(&report) {
            return Err(format!("--report: two reports go to {shown}; give each a file of its own").into());
        }
        earlier.push(report);
        checked.push(request.clone());
    }
    for path in checked.iter().filter_map(|request| request.file.as_deref()) {
        let shown = path.display();
        probe(path).map_err(|error| format!("--report: cannot write to {shown}: {error}; name another file"))?;
    }
    // What a killed command leaves is this.
    let reason = Reason::new("failed", "contrail was stopped before the end of its work", "");
    match write_failure(&checked, reason).into_iter().next() {
        Some(unwritten) => Err(format!("--report: {}; name another file", unwritten.what).into()),
        None => Ok(()),
    }
}

/// The reports to write: what `--report` asks for, and `--format` on standard output unless a `--report` goes there.
pub(super) fn wanted(reports: &[Request], format: Format) -> Result<Vec<Request>, Failure> {
    let mut wanted = reports.to_vec();
    let printed = wanted.iter().filter(|request| request.file.is_none()).count();
    if printed > 1 {
        return Err(
            "only one `--report` can go to standard output; give the others a file: `--report FORMAT=FILE`".into()
        );
    }
    if printed == 0 {
        let kind = match format {
            Format::Text => ReportFormat::Text,
            Format::Json => ReportFormat::Json,
        };
        wanted.insert(0, Request { kind, file: None });
    }
    Ok(wanted)
}

/// Writes the reports of a command: to files, then to standard output. `write` writes one, for a screen or a file.
pub(super) fn write_all(
    requests: &[Request],
    mut write: impl FnMut(ReportFormat, &mut dyn io::Write, Screen) -> io::Result<()>,
) -> Result<(), Failure> {
    if let Some(reason) = self::write(requests, |kind, to| write(kind, to, Screen::default())).into_iter().next() {
        return Err(reason.what.into());
    }
    for request in requests.iter().filter(|request| request.file.is_none()) {
        let mut printer = Printer::stdout();
        let screen = Screen { colour: printer.colour(), terminal: io::stdout().is_terminal() };
        write(request.kind, &mut printer, screen)?;
        printer.flush()?;
    }
    Ok(())
}

/// Writes the reports that go to files; gives those that could not be written. A folder that went meanwhile is made
/// again.
pub(super) fn write(
    requests: &[Request],
    mut write: impl FnMut(ReportFormat, &mut dyn io::Write) -> io::Result<()>,
) -> Vec<Reason> {
    let mut unwritten = Vec::new();
    for request in requests {
        let Some(path) = &request.file else { continue };
        let mut text = Vec::new();
        let written =
            write(request.kind, &mut text).and_then(|()| write_whole(path, &text)).or_else(|error| {
                match path.parent() {
                    Some(folder) if error.kind() == io::ErrorKind::NotFound => {
                        recording::private_folder(folder).and_then(|()| write_whole(path, &text))
                    }
                    _ => Err(error),
                }
            });
        if let Err(error) = written {
            let what = format!("cannot write the report to {}: {error}", path.display());
            unwritten.push(Reason::new("report", what, ""));
        }
    }
    unwritten
}

/// Runs a command that writes reports. Where it cannot do its work, each report says that and why, so that none of an
/// earlier run is taken for this one's.
///
/// # Errors
///
/// Those of the command.
pub(super) fn or_failure(
    requests: &[Request],
    run: impl FnOnce() -> Result<Outcome, Failure>,
) -> Result<Outcome, Failure> {
    run().inspect_err(|failure| {
        let failed = error_chain(&**failure);
        // A report that could not be written may be the failure itself, which is printed anyway.
        let unwritten = write_failure(requests, Reason::new("failed", failed.clone(), ""));
        for unwritten in unwritten.into_iter().filter(|unwritten| unwritten.what != failed) {
            let _ = writeln!(io::stderr(), "contrail: {}", visible(&unwritten.what));
        }
    })
}

/// Writes reports of a command that could not do its work; gives those that could not be written.
fn write_failure(requests: &[Request], reason: Reason) -> Vec<Reason> {
    let listed = requests.iter().any(|request| request.kind == ReportFormat::Json);
    let mut collector = Collector::new(Title::default(), Vec::new(), listed);
    let status = Outcome { failed: true, ..Outcome::CLEAN }.status();
    collector.ended(Exit { status, reasons: vec![reason] });
    let redactor = Redactor::new(Plan::default());
    write(requests, |kind, to| collector.write(kind, &redactor, to, Screen::default()))
}

/// Finds out whether a file can be written, and leaves it as it is; none is left where there was none. Its folder is
/// made.
fn probe(path: &Path) -> io::Result<()> {
    let target = resolved(path);
    let is_new = !target.exists();
    if let Some(folder) = target.parent().filter(|_| is_new) {
        recording::private_folder(folder)?;
    }
    private_file(path, false)?;
    if is_new { fs::remove_file(target) } else { Ok(()) }
}

/// Whether a file, without links, belongs to a place.
fn is_in(file: &Path, place: &Path, extent: Extent) -> bool {
    let at = resolved(place);
    if *file == at {
        return true;
    }
    match extent {
        Extent::File => false,
        Extent::Tree => file.starts_with(&at),
        Extent::Recording => {
            let folder = if place.is_dir() { Some(at.as_path()) } else { at.parent() };
            let is_part = recording::is_body_file(file) || place.is_dir() && recording::is_recording_name(file);
            is_part && folder.is_some_and(|folder| file.starts_with(folder))
        }
    }
}
