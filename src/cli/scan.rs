//! `contrail scan`: look for secrets in recordings.
//!
//! Every file is gone through twice: a secret that one place shows by its field or its shape is then found by value in
//! all of them, in whatever coding.

use std::{
    cell::OnceCell,
    collections::HashSet,
    fs, io,
    io::{Read as _, Write as _},
    path::{Path, PathBuf},
};

use bytes::Bytes;
use contrail_exchange::plural::plural;
use contrail_recording::{self as recording, ReadError};
use contrail_redact::{Cleaned, Redactor, Sighting};
use contrail_report::{
    Exit, Integrity, Reason, ReportFormat,
    scan::{Hit, Scanned},
};

use super::{
    ContractArgs, Failure, Outcome,
    options::{OutputArgs, contract::plan},
    printer::warn,
    redact,
    report_files::{self, Used},
    sources::{NamedFiles, STANDARD_INPUT},
    trails,
};

/// Search recordings for secrets
///
/// Exits with status 1 if it finds a secret. Prints the location, the kind and the label of each secret, never its
/// value.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Recordings, folders of them, or any other files; `-` reads standard input
    #[arg(value_name = "FILE", required = true)]
    pub(super) files: Vec<PathBuf>,
    /// Search for the value of this environment variable too; repeatable
    #[arg(long, value_name = "NAME")]
    env: Vec<String>,
    /// Treat this as a secret in addition to the built-in plan: `pointer:/a`, `header:NAME`, `regex:…` or `personal`;
    /// repeatable
    #[arg(long, value_name = "WHAT")]
    redact: Vec<String>,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    contract: ContractArgs,
}

/// A secret in a file, ready to be printed.
struct FoundSecret {
    source: String,
    line: Option<usize>,
    sighting: Sighting,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let mut used = Used::default();
    for file in args.files.iter().filter(|file| file.as_os_str() != "-") {
        used.tree("file", file);
    }
    used.contract(&args.contract);
    report_files::check(&args.output.report, &mut used)?;
    report_files::or_failure(&args.output.report, || scan(args))
}

fn scan(args: &Args) -> Result<Outcome, Failure> {
    let wanted = report_files::wanted(&args.output.report, args.output.format)?;
    let redactor = Redactor::new(plan(&args.contract.load()?, &args.redact)?);
    for name in &args.env {
        let value = std::env::var_os(name).ok_or_else(|| {
            format!("the environment variable `{name}` is not set, so its value cannot be searched for")
        })?;
        if !redactor.remember(value.as_encoded_bytes()) {
            return Err(format!(
                "the value of the environment variable `{name}` is too short or too common to be looked for"
            )
            .into());
        }
    }
    // Any file can be searched; a folder without a recording holds no trail.
    let altered: Vec<Integrity> =
        args.files.iter().flat_map(|file| trails::altered(std::slice::from_ref(file)).unwrap_or_default()).collect();
    let files = expand(&args.files)?;
    let mut undone = Vec::new();
    let (mut contents, mut paths) = (Vec::new(), Vec::new());
    for path in files {
        match Content::read(&path) {
            Ok(content) => {
                content.parts(&redactor, |_, _| {});
                contents.push(content);
                paths.push(path);
            }
            Err(error) => undone.push(error.to_string()),
        }
    }
    let unsearched = unsearched(&contents.iter().collect::<Vec<_>>());
    undone.extend(unsearched.iter().map(|(name, reason)| format!("`{name}` was not searched: {reason}")));
    for undone in &undone {
        warn(undone);
    }
    let mut found = Vec::new();
    let mut unread = 0;
    for content in &contents {
        let lines = OnceCell::new();
        content.parts(&redactor, |line, cleaned| {
            unread += cleaned.withheld;
            found.extend(cleaned.sightings.into_iter().map(|sighting| FoundSecret {
                line: line.or_else(|| content.line_of(&sighting, lines.get_or_init(|| content.line_ends()))),
                source: content.name.clone(),
                sighting,
            }));
        });
    }
    let hits = found.into_iter().map(|found| Hit {
        source: redactor.text(&found.source).into_inner(),
        line: found.line,
        at: found.sighting.at.as_ref().map(|at| redactor.pointer(at).into_inner()),
        kind: found.sighting.kind,
        label: found.sighting.label,
    });
    let is_searched = |content: &&Content| unsearched.iter().all(|(name, _)| *name != content.name);
    let files = contents.iter().filter(is_searched).count();
    let mut scanned = Scanned { files, hits: hits.collect(), exit: Exit::default() };
    let mut reasons: Vec<Reason> =
        undone.iter().map(|undone| Reason::new("failed", redactor.text(undone).into_inner(), "")).collect();
    let unread = (unread > 0)
        .then(|| format!("{} not searched: the content does not match the media type", plural(unread, "body")));
    reasons.extend(unread.iter().map(|unread| Reason::new("failed", unread, "")));
    reasons.extend(altered.iter().map(|trail| Reason::new("altered", trail.sentence(), "")));
    reasons.extend((!scanned.hits.is_empty()).then(|| Reason::shown("secret", scanned.in_words())));
    let outcome = Outcome {
        findings: !scanned.hits.is_empty() || unread.is_some() || !altered.is_empty(),
        failed: !undone.is_empty(),
        ..Outcome::CLEAN
    };
    scanned.exit = Exit { status: outcome.status(), reasons };
    report_files::write_all(&wanted, |kind, to, _| scanned.write(kind, to))?;
    if wanted.iter().any(|request| request.file.is_none() && request.kind == ReportFormat::Text) {
        let refused = || paths.iter().zip(&contents).find_map(|(path, content)| redact::head(path, content).err());
        let has_journal = contents.iter().any(|content| recording::is_journal(&content.bytes));
        summarise(&scanned, has_journal, refused);
    }
    if let Some(unread) = unread {
        let _ = writeln!(io::stderr(), "{unread}; `contrail redact` empties such a body");
    }
    Ok(outcome)
}

/// What was found in all, on standard error; `refused` is why `redact` would not clean the files. It takes no journal.
fn summarise(scanned: &Scanned, has_journal: bool, refused: impl FnOnce() -> Option<ReadError>) {
    let found = scanned.in_words();
    let them = if scanned.distinct() == 1 { "it" } else { "them" };
    let _ = match scanned.hits.len() {
        // Why none was searched is printed already.
        0 if scanned.files == 0 => Ok(()),
        // `contrail redact` refuses what cannot be searched, too.
        places if places == 0 || scanned.exit.status == 2 => writeln!(io::stderr(), "{found}"),
        _ => match refused() {
            Some(error) => writeln!(io::stderr(), "{found}; `contrail redact` cannot remove {them}: {error}"),
            None if has_journal => writeln!(
                io::stderr(),
                "{found}; make a fixture with `contrail pack`, from which `contrail redact` removes {them}"
            ),
            None => writeln!(io::stderr(), "{found}; `contrail redact` removes {them}"),
        },
    };
}

/// The files whose secrets cannot be found by their places, and the body files that are named and cannot be read, with
/// the reason. A body file is searched as it is.
pub(super) fn unsearched(contents: &[&Content]) -> Vec<(String, String)> {
    let named = |content: &&Content| recording::named_body_files(Path::new(&content.name), &content.bytes);
    let named: Vec<Vec<(PathBuf, Option<String>)>> = contents.iter().map(named).collect();
    let bodies: HashSet<&Path> = named.iter().flatten().map(|(file, _)| file.as_path()).collect();
    let mut unsearched = Vec::new();
    for (content, named) in contents.iter().zip(&named) {
        if bodies.contains(Path::new(&content.name)) {
            continue;
        }
        let reason = recording::unsearchable(&content.name, &content.bytes);
        unsearched.extend(reason.map(|reason| (content.name.clone(), reason)));
        if content.name != STANDARD_INPUT {
            let unread = named.iter().filter_map(|(file, fault)| Some((file.display().to_string(), fault.clone()?)));
            unsearched.extend(unread);
        }
    }
    unsearched
}

/// The files that are named, in order: themselves with the body files of a HAR file, and every regular file in a folder
/// and below. Symbolic links are followed; one that leads nowhere is named by a warning.
pub(super) fn expand(named: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    let mut seen = NamedFiles::default();
    for path in named {
        if path.as_os_str() == "-" {
            files.extend(seen.once(path, std::slice::from_ref(path)));
            continue;
        }
        let unreadable = |error: io::Error| format!("cannot read `{}`: {error}", path.display());
        let there = fs::metadata(path).map_err(unreadable)?;
        if !there.is_dir() {
            let mut all = vec![path.clone()];
            // What is taken out of a pipe to look for its body files is not searched any more.
            if there.is_file() {
                all.extend(recording::body_files(path));
            }
            files.extend(seen.once(path, &all));
            continue;
        }
        let mut inside = Vec::new();
        let mut folders = recording::Folders::below(path);
        while let Some(folder) = folders.take().map_err(unreadable)? {
            let (files, below) = recording::files_of(&folder).map_err(unreadable)?;
            inside.extend(files);
            for below in below {
                folders.add(below);
            }
            for link in recording::links_of(&folder).map_err(unreadable)? {
                match fs::metadata(&link) {
                    Ok(target) if target.is_dir() => folders.add_linked(link),
                    Ok(target) if target.is_file() => inside.push(link),
                    Ok(_) => {}
                    Err(error) => warn(&format!("`{}` is a symbolic link and is not read: {error}", link.display())),
                }
            }
        }
        if inside.is_empty() {
            return Err(format!("the folder `{}` holds no file", path.display()).into());
        }
        inside.sort();
        files.extend(seen.once(path, &inside));
    }
    Ok(files)
}

/// A file that was read.
pub(super) struct Content {
    pub(super) name: String,
    pub(super) bytes: Bytes,
    /// Newline-delimited JSON: each line is gone through by itself.
    lines: bool,
}

impl Content {
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let (name, bytes) = if path.as_os_str() == "-" {
            let mut bytes = Vec::new();
            io::stdin().read_to_end(&mut bytes).map_err(|error| format!("cannot read standard input: {error}"))?;
            (STANDARD_INPUT.to_owned(), bytes)
        } else {
            let bytes = fs::read(path).map_err(|error| format!("cannot read `{}`: {error}", path.display()))?;
            (path.display().to_string(), bytes)
        };
        Ok(Self::of(name, bytes))
    }

    pub(super) fn of(name: String, bytes: Vec<u8>) -> Self {
        // Fiddler writes a byte-order mark; it is no part of the JSON.
        let bytes = Bytes::from(bytes);
        let bytes = if bytes.starts_with(b"\xef\xbb\xbf") { bytes.slice(3..) } else { bytes };
        let lines = is_lines(&bytes);
        Self { name, bytes, lines }
    }

    /// Goes through the file part by part; a part of a journal is a line with its number.
    pub(super) fn parts(&self, redactor: &Redactor, mut each: impl FnMut(Option<usize>, Cleaned)) {
        if !self.lines {
            each(None, redactor.file(&self.bytes));
            return;
        }
        let mut start = 0;
        for (at, line) in self.bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
            each(Some(at + 1), redactor.file(&self.bytes.slice(start..start + line.len())));
            start += line.len();
        }
    }

    fn line_ends(&self) -> Vec<usize> {
        memchr::memchr_iter(b'\n', &self.bytes).collect()
    }

    /// The line of what was found in a text whose lines end there.
    fn line_of(&self, sighting: &Sighting, ends: &[usize]) -> Option<usize> {
        let is_text = sighting.at.is_none() && sighting.offset <= self.bytes.len();
        is_text.then(|| 1 + ends.partition_point(|end| *end < sighting.offset))
    }
}

/// Whether each of the first lines is a JSON object by itself.
fn is_lines(bytes: &[u8]) -> bool {
    let mut lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let parses =
        |line: &[u8]| contrail_exchange::json::Document::parsed_or_mended(&Bytes::copy_from_slice(line)).is_some();
    let object = |line: &[u8]| line.starts_with(b"{") && parses(line);
    lines.next().is_some_and(object) && lines.next().is_some_and(|line| line.starts_with(b"{"))
}
