//! Reads the recordings that a command line names, each once: on all cores, and in their order.

use std::path::{Path, PathBuf};

use contrail_exchange::plural::plural;
use contrail_recording::{Entry, ReadEnd, ReadError, Recording};
use contrail_report::Unread;

use super::{
    Failure,
    messages::error_chain,
    printer::warn,
    progress::Progress,
    remote::shown,
    sources::STANDARD_INPUT,
    trails::{self, Inspected, Source},
};

/// What a command does with recordings, `T` being what it made of an entry.
pub(super) trait Sink<T> {
    /// Next come the recordings of this argument.
    fn named(&mut self, _: &mut Inspected) {}

    /// Next come the entries of this recording.
    fn begin(&mut self, _: &Source, _: &Recording) {}

    /// Takes an entry.
    fn take(&mut self, made: T) -> Result<(), Failure>;

    /// The recording was read to its end.
    fn end(&mut self, _: &Source, _: &ReadEnd) {}
}

/// Reads these recordings, makes of each entry what `work` does, and hands it to `sink`. What could not be read of
/// them: a command that left out something fails.
pub(super) fn read<T: Send>(
    named: Vec<Inspected>,
    open: impl Fn(&Source) -> Result<Recording, ReadError>,
    work: impl Fn(Entry) -> T + Sync,
    sink: &mut impl Sink<T>,
) -> Result<Unread, Failure> {
    let files = named.iter().map(|one| one.sources.len()).sum();
    let bytes = named.iter().flat_map(|one| &one.sources).map(Source::size).sum();
    let mut progress = Progress::new(files, bytes);
    let mut unread = Unread::default();
    for mut argument in named {
        sink.named(&mut argument);
        for source in &argument.sources {
            match read_one(source, &open, &work, sink, &mut progress) {
                Ok(left_out) => unread.entries += left_out,
                // The result of the chain's check names the altered line.
                Err(error) if source.altered => warn(&format!("the rest of it is not checked: {error}")),
                // The other recordings are read all the same.
                Err(error) if files > 1 && error.is::<ReadError>() => {
                    warn(&error_chain(&*error));
                    unread.files += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }
    Ok(unread)
}

fn read_one<T: Send>(
    source: &Source,
    open: &impl Fn(&Source) -> Result<Recording, ReadError>,
    work: impl Fn(Entry) -> T + Sync,
    sink: &mut impl Sink<T>,
    progress: &mut Progress,
) -> Result<u64, Failure> {
    let recording = open(source)?;
    progress.file(source.size(), recording.bytes_read());
    sink.begin(source, &recording);
    let mut taken = 0;
    let ended = recording.each(work, |made| -> Result<(), Failure> {
        progress.exchange();
        taken += 1;
        sink.take(made)
    });
    progress.clear();
    let end = ended?;
    let left_out = report_left_out(source, &end);
    sink.end(source, &end);
    if taken + left_out == 0 && !source.chained {
        let name = if source.path.as_os_str() == "-" { STANDARD_INPUT.to_owned() } else { source.name() };
        warn(&format!("nothing was checked in `{name}`: it holds no exchange"));
    }
    Ok(left_out)
}

/// The recordings that these arguments name, of a command that refuses altered trails: `nothing is learned from` one.
pub(super) fn unaltered(named: &[PathBuf], heads: &[PathBuf], refusal: &str) -> Result<Vec<Inspected>, Failure> {
    let inspected = trails::inspect(named, heads)?;
    match inspected.iter().flat_map(|one| &one.trails).find_map(|trail| trail.broken.as_ref()) {
        Some(broken) => {
            Err(format!("{refusal} a trail that was altered: {broken}; `contrail audit` reports on it").into())
        }
        None => Ok(inspected),
    }
}

/// Warns of what was left out of a recording: a torn last line, and entries that could not be read. The number of the
/// latter. Those of an altered trail do not count: that it was altered says more.
fn report_left_out(source: &Source, end: &ReadEnd) -> u64 {
    report_torn(&source.path, end.head.torn);
    let unreadable = &end.unreadable;
    unreadable.first.iter().for_each(|sentence| warn(&format!("left out {sentence}")));
    let rest = unreadable.count - unreadable.first.len();
    if rest > 0 {
        warn(&format!("left out {} more that could not be read", plural(rest as u64, "entry")));
    }
    if source.altered { 0 } else { unreadable.count as u64 }
}

/// Warns of a fixture that never proved itself.
pub(super) fn report_unproven(name: &str, unproven: bool) {
    if unproven {
        warn(&format!("`{name}` is unproven: it was never replayed, verified and scanned at the end of its recording"));
    }
}

/// Warns of a journal whose last line is torn.
pub(super) fn report_torn(journal: &Path, bytes: u64) {
    if bytes > 0 {
        warn(&torn(journal, bytes));
    }
}

/// Its description.
pub(super) fn torn(journal: &Path, bytes: u64) -> String {
    let (journal, bytes) = (shown(journal), plural(bytes, "byte"));
    format!(
        "left out a torn last line of `{journal}` ({bytes}): contrail was killed while it wrote the exchange, or is still writing it"
    )
}
