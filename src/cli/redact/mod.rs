//! `contrail redact`: clean recordings that exist.
//!
//! Fixtures of contrail's own are folded again ([`fixtures`]). Other files are edited: what another tool wrote beside
//! the messages survives byte for byte. All files are searched once before anything is written, so that a secret that
//! one of them shows is taken out of all. Journals and trails are refused.

mod fixtures;
mod summary;

use std::{
    cell::RefCell,
    collections::{BTreeMap, HashMap},
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use bytes::Bytes;
use contrail_exchange::plural::plural;
use contrail_recording::{self as recording, Head, ReadError, ReadFault, Recording};
use contrail_redact::Redactor;

use self::{fixtures::Own, summary::Summary};
use super::{
    ContractArgs, Failure, Outcome,
    kinds::{self, FileKind},
    open_files::raised_to,
    options::contract::plan,
    printer::{Beside, Printer, write_whole},
    scan::{Content, expand, unsearched},
    sources,
};

/// Remove the secrets from existing recordings
#[derive(Debug, clap::Args)]
pub struct Args {
    /// HAR files of any tool, or whole folders; `-` reads standard input
    #[arg(value_name = "FILE", required = true)]
    pub(in crate::cli) files: Vec<PathBuf>,
    /// Output path; a folder if the input is a folder [default for one file: standard output]
    #[arg(long, value_name = "PATH", conflicts_with = "in_place")]
    pub(super) out: Option<PathBuf>,
    /// Redact the files in place
    #[arg(long)]
    pub(in crate::cli) in_place: bool,
    /// Replace what exists at the output path; in a folder, the files of the same names
    #[arg(long)]
    pub(super) overwrite: bool,
    /// Write nothing; exit with status 1 if anything needs redaction
    #[arg(long, conflicts_with_all = ["in_place", "out"])]
    pub(super) check: bool,
    /// Redact this in addition to the built-in plan: `pointer:/a`, `header:NAME`, `regex:…` or `personal`; repeatable
    #[arg(long, value_name = "WHAT")]
    pub(super) redact: Vec<String>,
    #[command(flatten)]
    pub(super) contract: ContractArgs,
}

/// A file to clean.
pub(super) struct Item {
    pub(super) path: PathBuf,
    pub(super) content: Content,
    pub(super) target: Destination,
}

/// Where a cleaned file goes.
pub(super) enum Destination {
    /// It is only searched, or belongs to no copy.
    Nowhere,
    Output,
    File(PathBuf),
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let redactor = Redactor::new(plan(&args.contract.load_quietly()?, &args.redact)?);
    if args.in_place {
        recover(&args.files)?;
        args.files.iter().try_for_each(|named| sources::refuse_journals(named, &args.files))?;
    } else {
        sources::warn_of_journals(&args.files);
    }
    let mut items = Vec::new();
    for (path, target) in targets(args)? {
        let content = Content::read(&path)?;
        content.parts(&redactor, |_, _| {});
        items.push(Item { path, content, target });
    }
    if !args.check {
        refuse_recording_journals(args, &items)?;
    }
    let contents: Vec<&Content> = items.iter().map(|item| &item.content).collect();
    if let Some((name, reason)) = unsearched(&contents).first() {
        return Err(format!("`{name}` cannot be searched for secrets, so nothing was written: {reason}").into());
    }
    let mut heads = HashMap::new();
    for Item { path, content, .. } in &items {
        // What was read from standard input cannot be read again.
        heads.extend(head(path, content)?.filter(|_| path.as_os_str() != "-").map(|head| (path.clone(), head)));
    }
    let fixtures: Vec<Own> = args.files.iter().filter_map(|named| Own::at(named, &heads)).collect();
    refuse_bodies(args, &items, &fixtures)?;
    let mut summary = Summary::default();
    let cleaned = search(&items, &redactor, &mut summary);
    summary.edited = edited(&items);
    if !args.check {
        write(args, &redactor, (&items, &fixtures), &cleaned, &mut summary)?;
    }
    summary.print(&redactor, items.len(), args.check);
    let findings = summary.left > 0 || summary.lost > 0 || (args.check && !summary.is_empty());
    Ok(Outcome { findings, ..Outcome::CLEAN })
}

/// Refuses journals and trails: a fixture that is packed from one is redacted in its place.
fn refuse_recording_journals(args: &Args, items: &[Item]) -> Result<(), Failure> {
    let Some(journal) = items.iter().find(|item| recording::is_journal(&item.content.bytes)) else { return Ok(()) };
    let trails = args.files.iter().filter_map(|named| recording::find(named).ok()).flat_map(|found| found.trails);
    let trail = trails.into_iter().find(|trail| trail.segments.contains(&journal.path));
    let name = trail.map_or_else(|| journal.path.clone(), |trail| trail.name);
    let kind = if name == journal.path { "journal" } else { "trail" };
    Err(format!(
        "`{0}` is a {kind}, and only fixtures are redacted; make one of it with `contrail pack {0} --out PACKED.har`, and \
         redact that",
        name.display()
    )
    .into())
}

/// Each file without its secrets, as a text of its own.
fn search(items: &[Item], redactor: &Redactor, summary: &mut Summary) -> BTreeMap<PathBuf, Bytes> {
    let mut all = BTreeMap::new();
    for Item { path, content, .. } in items {
        let mut out = Vec::with_capacity(content.bytes.len());
        let mut has_secret = false;
        content.parts(redactor, |_, cleaned| {
            has_secret |= !cleaned.sightings.is_empty();
            summary.add(&cleaned.sightings, cleaned.withheld);
            out.extend_from_slice(&cleaned.content);
        });
        summary.files += usize::from(has_secret);
        all.insert(path.clone(), out.into());
    }
    all
}

/// Body files that do not have the digests that their HAR files state.
fn edited(items: &[Item]) -> usize {
    let held = |path: &Path| items.iter().find(|item| item.path == path).map(|item| item.content.bytes.clone());
    let count = |item: &Item| {
        recording::edited_bodies(&item.content.bytes, |name| {
            let beside = item.path.with_file_name(name);
            held(&beside).or_else(|| fs::read(&beside).ok().map(Bytes::from))
        })
    };
    items.iter().map(count).sum()
}

/// Writes the cleaned files. Those in place are replaced once all of them are whole on the disk.
fn write(
    args: &Args,
    redactor: &Redactor,
    (items, fixtures): (&[Item], &[Own]),
    cleaned: &BTreeMap<PathBuf, Bytes>,
    summary: &mut Summary,
) -> Result<(), Failure> {
    if let Some(out) = &args.out {
        recording::FixturePath::writable(out)?;
        sources::refuse_journals(out, &[])?;
    }
    if let Some(out) = &args.out
        && !args.in_place
        && !args.overwrite
        && is_taken(out)
    {
        return Err(format!("`{}` exists already; add --overwrite to replace it", out.display()).into());
    }
    for Item { content, target, .. } in items.iter().filter(|_| !args.in_place) {
        if let Destination::File(path) = target {
            kinds::replaces("--overwrite", path, FileKind::beginning(&content.bytes))?;
        }
    }
    // Those in place stay open until all are whole.
    let _ = raised_to(items.len() as u64 + 64);
    let (mut files, sealed) = (Vec::new(), RefCell::new(Vec::new()));
    for item in items {
        if fixtures.iter().any(|fixture| fixture.files.contains(&item.path)) {
            continue;
        }
        let text = cleaned.get(&item.path).cloned().unwrap_or_default();
        // What was edited by hand is accepted with what was changed here.
        let beside = |name: &str| cleaned.get(&item.path.with_file_name(name)).cloned();
        let out = recording::restamp(&text, beside).unwrap_or_else(|| text.into());
        // The proof: what is written is searched again.
        let proof = Content::of(item.content.name.clone(), out);
        proof.parts(redactor, |_, cleaned| summary.left += cleaned.sightings.len());
        files.extend(put(args, item, &proof.bytes)?.map(|beside| (item, beside)));
    }
    for fixture in fixtures {
        fixture.write(args, redactor, &sealed, summary)?;
    }
    for (item, _) in &files {
        if Content::read(&item.path)?.bytes != item.content.bytes {
            return Err(format!("`{}` was changed meanwhile; start again", item.path.display()).into());
        }
    }
    for (item, beside) in files {
        beside.finish().map_err(cannot_write(&item.path))?;
    }
    Ok(sealed.into_inner().into_iter().try_for_each(recording::Sealed::commit)?)
}

/// What a recording states about itself, if all of it can be read; `None` for any other file.
///
/// # Errors
///
/// [`ReadError`] where contrail wrote something that cannot be read: an entry of a journal, or a `_contrail` of a HAR
/// file. Such a file is not edited as another tool's is.
pub(super) fn head(path: &Path, content: &Content) -> Result<Option<Head>, ReadError> {
    let holds = |text: &[u8]| memchr::memmem::find(&content.bytes, text).is_some();
    // A name may have escapes.
    if !recording::is_journal(&content.bytes) && !holds(b"contrail") && !holds(br"\u00") {
        return Ok(None);
    }
    let opened = if path.as_os_str() == "-" {
        Recording::new(content.name.clone(), Box::new(io::Cursor::new(content.bytes.clone())), None)
    } else {
        recording::open(path)
    };
    let is_own = |error: &ReadError| {
        matches!(
            error.fault,
            ReadFault::Note { .. }
                | ReadFault::Version { .. }
                | ReadFault::Tokens
                | ReadFault::Line { .. }
                | ReadFault::Conflict { .. }
        )
    };
    let read = opened.and_then(|mut recording| {
        // What follows the entries is about the file, too.
        let fault = recording.find_map(Result::err);
        fault.map_or_else(|| Ok(recording.head().clone()), Err)
    });
    match read {
        Ok(head) => Ok(Some(head)),
        Err(error) if is_own(&error) => Err(error),
        Err(_) => Ok(None),
    }
}

/// Whether a copy at `out` would replace something: a file, or what is in a folder.
fn is_taken(out: &Path) -> bool {
    let is_visible = |item: fs::DirEntry| !item.file_name().as_encoded_bytes().starts_with(b".");
    let is_there = match fs::metadata(out) {
        Ok(there) if there.is_dir() => fs::read_dir(out).into_iter().flatten().flatten().any(is_visible),
        Ok(there) => there.is_file() && there.len() > 0,
        Err(_) => false,
    };
    is_there || recording::FixturePath::find(out).is_ok_and(|place| place.is_taken())
}

/// Puts a cleaned file where it goes; one in place is written beside it first.
fn put(args: &Args, item: &Item, bytes: &Bytes) -> Result<Option<Beside>, Failure> {
    match &item.target {
        Destination::Nowhere => {}
        Destination::Output => {
            let mut printer = Printer::stdout();
            printer.write_all(bytes)?;
            printer.flush()?;
        }
        // A file that has nothing to take out is left alone where it is.
        Destination::File(_) if args.in_place && *bytes == item.content.bytes => {}
        Destination::File(path) if args.in_place => {
            return Ok(Some(Beside::write(recording::resolved(path), bytes).map_err(cannot_write(path))?));
        }
        Destination::File(path) => write_file(path, bytes)?,
    }
    Ok(None)
}

fn cannot_write(path: &Path) -> impl Fn(io::Error) -> String {
    move |error| format!("cannot write `{}`: {error}", path.display())
}

/// Finishes changes of these folders that were interrupted: what is cleaned is their result.
fn recover(named: &[PathBuf]) -> Result<(), Failure> {
    let parent = |path: &PathBuf| recording::resolved(path).parent().map(Path::to_path_buf);
    let mut folders: Vec<PathBuf> =
        named.iter().filter_map(|path| if path.is_dir() { Some(path.clone()) } else { parent(path) }).collect();
    let below: Vec<&PathBuf> = named.iter().filter(|path| path.is_dir()).collect();
    while let Some(folder) = folders.pop() {
        recording::recover_folder(&folder)?;
        if below.iter().any(|named| folder.starts_with(named)) {
            let unreadable = |error: io::Error| format!("cannot read `{}`: {error}", folder.display());
            folders.extend(recording::files_of(&folder).map_err(unreadable)?.1);
        }
    }
    Ok(())
}

fn targets(args: &Args) -> Result<Vec<(PathBuf, Destination)>, Failure> {
    let files = expand(&args.files)?;
    if args.check {
        return Ok(files.into_iter().map(|path| (path, Destination::Nowhere)).collect());
    }
    if args.in_place {
        if files.iter().any(|path| path.as_os_str() == "-") {
            return Err("standard input cannot be replaced; leave `--in-place` out".into());
        }
        return Ok(files.into_iter().map(|path| (path.clone(), Destination::File(path))).collect());
    }
    let Some(out) = &args.out else {
        return match <[PathBuf; 1]>::try_from(files) {
            Ok([only]) => Ok(vec![(only, Destination::Output)]),
            Err(files) if is_one_file(&args.files) => Ok(with_bodies(files, Destination::Output)),
            Err(files) => {
                let files = plural(files.len(), "file");
                Err(match args.files.len() {
                    1 => format!("{files} to clean: give `--out FOLDER`, or `--in-place`"),
                    _ => format!("{files} to clean: give `--in-place`, or `--out FOLDER` with one folder"),
                }
                .into())
            }
        };
    };
    let [named] = args.files.as_slice() else {
        return Err("`--out` takes one recording at a time; give `--in-place` for several".into());
    };
    if named.is_dir() {
        // Kept apart by their names below the folder.
        return files
            .into_iter()
            .map(|path| {
                let below = path.strip_prefix(named).map_err(|_| format!("`{}` is elsewhere", path.display()))?;
                let target = Destination::File(out.join(below));
                Ok((path, target))
            })
            .collect();
    }
    Ok(with_bodies(files, Destination::File(out.clone())))
}

/// Whether one file is named, and no folder.
fn is_one_file(named: &[PathBuf]) -> bool {
    matches!(named, [named] if !named.is_dir())
}

/// The targets of one file and the body files that belong to it.
fn with_bodies(files: Vec<PathBuf>, target: Destination) -> Vec<(PathBuf, Destination)> {
    let targets = std::iter::once(target).chain(std::iter::repeat_with(|| Destination::Nowhere));
    files.into_iter().zip(targets).collect()
}

/// Refuses to copy one file of a recording with body files, unless it is a fixture of contrail's own: that is packed
/// into one file, and another tool's recording cannot be.
fn refuse_bodies(args: &Args, items: &[Item], fixtures: &[Own]) -> Result<(), Failure> {
    let bodies = items.len().saturating_sub(1);
    let [named] = args.files.as_slice() else { return Ok(()) };
    if args.check || args.in_place || named.is_dir() || bodies == 0 || !fixtures.is_empty() {
        return Ok(());
    }
    let folder = named.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Err(format!(
        "`{}` keeps bodies in {} beside it, which belong to the copy; redact its folder, \
         `contrail redact {} --out FOLDER`, or give `--in-place`",
        named.display(),
        plural(bodies, "file"),
        folder.display()
    )
    .into())
}

/// Writes by rename, so that a file is either the old one or the new one; 0600.
fn write_file(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    recording::private_folder(folder).and_then(|()| write_whole(path, bytes)).map_err(cannot_write(path))?;
    Ok(())
}
