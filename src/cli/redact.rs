//! `contrail redact`: clean recordings that exist.
//!
//! Fixtures of contrail's own are folded anew ([`Own`]). Other files are edited in place: what another tool wrote beside the messages survives byte for byte. All files are gone
//! through once before anything is written, so that a secret that one of them shows is taken out of all.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use bytes::Bytes;

use super::{
    ContractArgs, Failure, Outcome,
    printer::{Printer, line, write_whole},
    refold::Own,
    scan::{Content, expand},
};
use crate::{
    plural::plural,
    recording::{self, Place},
    redact::{Plan, Redactor},
};

/// Remove the secrets from existing recordings
#[derive(Debug, clap::Args)]
pub struct Args {
    /// HAR files of any tool, journals, or whole folders; `-` reads standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Output path; a folder if the input is a folder [default for one file: standard output]
    #[arg(long, value_name = "PATH", conflicts_with = "in_place")]
    out: Option<PathBuf>,
    /// Redact the files in place
    #[arg(long)]
    in_place: bool,
    /// Write nothing; exit with status 1 if anything needs redaction
    #[arg(long, conflicts_with_all = ["in_place", "out"])]
    check: bool,
    /// Redact this in addition to the built-in plan: `pointer:/a`, `header:NAME`, `regex:…` or `personal`; repeatable
    #[arg(long, value_name = "RULE")]
    redact: Vec<String>,
    #[command(flatten)]
    contract: ContractArgs,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let redactor = Redactor::new(Plan::new(&args.redact)?);
    if args.in_place {
        settle(&args.files)?;
    }
    let fixtures: Vec<Own> =
        if args.check { Vec::new() } else { args.files.iter().filter_map(|named| Own::at(named)).collect() };
    let targets = targets(args)?;
    let mut contents = Vec::new();
    for (path, target) in targets {
        let content = Content::read(&path)?;
        content.parts(&redactor, |_, _| {});
        contents.push((path, content, target));
    }
    let mut told = Told::default();
    let mut left = 0;
    let mut cleaned: BTreeMap<&Path, Bytes> = BTreeMap::new();
    for (path, content, _) in &contents {
        let mut out = Vec::with_capacity(content.bytes.len());
        content.parts(&redactor, |_, cleaned| {
            told.add(&cleaned.sightings, cleaned.withheld);
            out.extend_from_slice(&cleaned.content);
        });
        cleaned.insert(path, out.into());
    }
    for (path, content, target) in &contents {
        if fixtures.iter().any(|fixture| fixture.files.contains(path)) {
            continue;
        }
        let out = cleaned.get(&**path).cloned().unwrap_or_default();
        // What was edited by hand is accepted with what was changed here.
        let beside = |name: &str| cleaned.get(&*path.with_file_name(name)).cloned();
        let out = recording::restamp(&out, beside).unwrap_or_else(|| out.into());
        // The proof: what is written is gone through again.
        let proof = Content::of(content.name.clone(), out);
        proof.parts(&redactor, |_, cleaned| left += cleaned.sightings.len());
        match target {
            Target::Nowhere => {}
            Target::Output => {
                let mut printer = Printer::stdout();
                printer.write_all(&proof.bytes)?;
                printer.flush()?;
            }
            // A file that has nothing to take out is left alone where it is.
            Target::File(path) if args.in_place && proof.bytes == content.bytes => {
                debug_assert!(path.exists());
            }
            Target::File(path) => write(path, &proof.bytes)?,
        }
    }
    let mut lost = 0;
    for fixture in &fixtures {
        let scratch = tempfile::tempdir()?;
        let to = match &args.out {
            _ if args.in_place => fixture.place().to_path_buf(),
            Some(out) => out.clone(),
            None => scratch.path().join("out.har"),
        };
        let (har, problems) = fixture.fold(&to, &redactor, &args.contract)?;
        if let Some(written) = Own::at(&har) {
            for file in &written.files {
                Content::read(file)?.parts(&redactor, |_, cleaned| left += cleaned.sightings.len());
            }
        }
        if !args.in_place && args.out.is_none() {
            let mut printer = Printer::stdout();
            printer.write_all(&fs::read(&har)?)?;
            printer.flush()?;
        }
        lost += problems.len();
        for problem in problems {
            line(&format!("{}: after redaction, {problem}", fixture.place().display()));
        }
    }
    told.say(&redactor, contents.len(), args.check);
    if left > 0 {
        let _ = writeln!(
            io::stderr(),
            "contrail: {} left in what was written; this is a fault of contrail",
            plural(left, "secret")
        );
    }
    let findings = left > 0 || lost > 0 || (args.check && !told.is_empty());
    Ok(Outcome { findings, ..Outcome::CLEAN })
}

/// Finishes folds into these folders that were interrupted: what is cleaned is what they came to.
fn settle(named: &[PathBuf]) -> Result<(), Failure> {
    let mut folders: Vec<PathBuf> = named.iter().filter(|path| path.is_dir()).cloned().collect();
    while let Some(folder) = folders.pop() {
        if recording::is_interrupted(&folder) {
            Place::prepare(&folder)?;
        }
        let unreadable = |error: io::Error| format!("cannot read `{}`: {error}", folder.display());
        folders.extend(recording::files_of(&folder).map_err(unreadable)?.1);
    }
    Ok(())
}

/// Where a cleaned file goes.
enum Target {
    Nowhere,
    Output,
    File(PathBuf),
}

fn targets(args: &Args) -> Result<Vec<(PathBuf, Target)>, Failure> {
    let files = expand(&args.files)?;
    if args.check {
        return Ok(files.into_iter().map(|path| (path, Target::Nowhere)).collect());
    }
    if args.in_place {
        if files.iter().any(|path| path.as_os_str() == "-") {
            return Err("standard input cannot be replaced; leave `--in-place` out".into());
        }
        return Ok(files.into_iter().map(|path| (path.clone(), Target::File(path))).collect());
    }
    let Some(out) = &args.out else {
        return match <[PathBuf; 1]>::try_from(files) {
            Ok([only]) => Ok(vec![(only, Target::Output)]),
            Err(files) => Err(format!(
                "{} to clean: give `--in-place`, or `--out FOLDER` with one folder",
                plural(files.len(), "file")
            )
            .into()),
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
                let target = Target::File(out.join(below));
                Ok((path, target))
            })
            .collect();
    }
    Ok(files.into_iter().map(|path| (path, Target::File(out.clone()))).collect())
}

/// Writes by rename, so that a file is either the old one or the new one; 0600.
fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let failed = |error: io::Error| format!("cannot write `{}`: {error}", path.display());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    make_folder(folder).map_err(failed)?;
    write_whole(path, bytes).map_err(failed)?;
    Ok(())
}

fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

/// What was taken out, for the summary.
#[derive(Default)]
struct Told {
    places: BTreeMap<&'static str, usize>,
    withheld: usize,
}

impl Told {
    fn add(&mut self, sightings: &[crate::redact::Sighting], withheld: usize) {
        for sighting in sightings {
            *self.places.entry(sighting.kind).or_default() += 1;
        }
        self.withheld += withheld;
    }

    fn is_empty(&self) -> bool {
        self.places.is_empty() && self.withheld == 0
    }

    fn say(&self, redactor: &Redactor, files: usize, check: bool) {
        let mut stderr = io::stderr();
        let verb = if check { "to take out of" } else { "taken out of" };
        let kinds: Vec<String> = self.places.iter().map(|(kind, number)| format!("{kind} {number}")).collect();
        let places = self.places.values().sum();
        let _ = match places {
            0 => writeln!(stderr, "no secret {verb} {}", plural(files, "file")),
            _ => {
                writeln!(stderr, "{} {verb} {}: {}", plural(places, "secret"), plural(files, "file"), kinds.join(", "))
            }
        };
        if self.withheld > 0 {
            let bodies = plural(self.withheld, "body");
            let _ = writeln!(
                stderr,
                "{bodies} emptied: not what the media type says, and contrail cannot tell where secrets are"
            );
        }
        if let Some(personal) = redactor.counters().said_of_personal() {
            let _ = writeln!(stderr, "{personal}");
        }
    }
}
