//! `contrail pack`, `contrail unpack`: one layout of a recording into the other.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

use contrail_contract::CheckOptions;
use contrail_exchange::{Exchange, plural::plural};
use contrail_recording::{self as recording, Check, FixturePath, FoldOptions, FoldSource, Journal, Keep, Take};
use contrail_redact::Redactor;

use super::{
    ContractArgs, Failure, Outcome,
    kinds::{self, FileKind},
    options::contract::plan,
    progress::folding,
    sources,
};

/// Pack a recording (folder, journal, trail) into one HAR file
#[derive(Debug, clap::Args)]
pub struct PackArgs {
    /// Fixture, journal or trail; a PATH includes its PATH.journal
    pub(super) recording: PathBuf,
    /// Output file; its name ends in .har
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Replace an existing file
    #[arg(long)]
    overwrite: bool,
    #[command(flatten)]
    contract: ContractArgs,
}

/// Unpack a recording into a folder with one file per body
#[derive(Debug, clap::Args)]
pub struct UnpackArgs {
    /// Fixture, journal or trail; a PATH includes its PATH.journal
    pub(super) recording: PathBuf,
    /// Output folder
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Replace an existing recording in the folder
    #[arg(long)]
    overwrite: bool,
    #[command(flatten)]
    contract: ContractArgs,
}

pub(super) fn run_pack(args: &PackArgs) -> Result<Outcome, Failure> {
    if !recording::is_single_file(&args.out) {
        let hint = "a packed recording is one file whose name ends in .har; `contrail unpack` makes a folder";
        return Err(format!("--out {}: {hint}", args.out.display()).into());
    }
    repack(&args.recording, &args.out, args.overwrite, &args.contract)
}

pub(super) fn run_unpack(args: &UnpackArgs) -> Result<Outcome, Failure> {
    if recording::is_single_file(&args.out) {
        let hint = "an unpacked recording is a folder; `contrail pack` makes one .har file";
        return Err(format!("--out {}: {hint}", args.out.display()).into());
    }
    repack(&args.recording, &args.out, args.overwrite, &args.contract)
}

/// What there is to pack.
struct PackInput {
    sources: Vec<FoldSource>,
    /// The day that it states itself; none if a journal is part of it.
    recorded: Option<String>,
    unproven: bool,
}

fn repack(from: &Path, to: &Path, overwrite: bool, contract: &ContractArgs) -> Result<Outcome, Failure> {
    sources::refuse_pipes(&[from])?;
    let place = FixturePath::prepare(to)?;
    let found = find(from)?;
    if !overwrite && place.is_taken() {
        return Err(format!("`{}` exists already; add --overwrite to replace it", to.display()).into());
    }
    kinds::replaces("--overwrite", place.har(), FileKind::Recording)?;
    sources::refuse_journals(to, &[])?;
    let contract = contract.load()?;
    let options = CheckOptions { tenant_origins: vec![recording::TENANT_ORIGIN.to_owned()], ..CheckOptions::default() };
    let check = |exchange: &Exchange| contract.check(exchange, &options);
    let (today, progress) = (recording::today(), folding());
    let folded = recording::fold(
        &found.sources,
        to,
        &FoldOptions {
            check: Some(Check { contract: contract.hash(), check: &check }),
            keep: if found.recorded.is_some() { &[Keep::All] } else { &[] },
            unproven: found.unproven,
            recorded: found.recorded.as_deref(),
            progress: Some(&progress),
            ..FoldOptions::new(&Redactor::new(plan(&contract, &[])?), &today)
        },
    )?;
    let mut line = format!("{} in {}", plural(folded.entries, "exchange"), folded.har.display());
    let transient: usize = folded.transient.values().sum();
    if transient > 0 {
        let _ = write!(line, ", {} left out", plural(transient, "transient answer"));
    }
    if folded.own_answers > 0 {
        let _ = write!(line, ", {} of contrail's own answers left out", folded.own_answers);
    }
    if found.unproven {
        line.push_str(" (unproven: it was never replayed, verified and scanned at the end of its recording)");
    }
    if let Some(unrecorded) = &folded.unrecorded {
        super::printer::warn(&unrecorded.sentence());
    }
    for (journal, bytes) in &folded.torn {
        super::survey::report_torn(journal, *bytes);
    }
    super::printer::line(&line);
    Ok(Outcome::CLEAN)
}

/// The segments of the trail at `path`, after its chain was checked; `None` if it is no trail.
fn trail(path: &Path) -> Result<Option<Vec<PathBuf>>, Failure> {
    if !path.exists() {
        return Ok(None);
    }
    let found = recording::find(path)?;
    let ([trail], []) = (found.trails.as_slice(), found.others.as_slice()) else { return Ok(None) };
    let unreadable = |error: std::io::Error| format!("cannot read the trail `{}`: {error}", trail.name.display());
    let Some(checked) = recording::check_chain(&trail.segments, &[], trail.whole).map_err(unreadable)? else {
        return Ok(None);
    };
    match checked.broken {
        Some(broken) => Err(format!("{broken}; nothing was packed").into()),
        None => Ok(Some(trail.segments.clone())),
    }
}

/// The recording at `path`, with the journal beside it that was not folded yet.
fn find(path: &Path) -> Result<PackInput, Failure> {
    let journal = Some(Journal::path_for(path)).filter(|journal| journal.exists() && !Journal::is_folded(journal));
    let mut sources = Vec::new();
    let mut recorded = None;
    let mut unproven = false;
    if let Some(segments) = trail(path)? {
        let whole = FoldSource { paths: segments, take: Take::All };
        return Ok(PackInput { sources: vec![whole], recorded: None, unproven: true });
    }
    if path.exists() || journal.is_none() {
        let inside = recording::sources(path)?;
        let [only] = inside.as_slice() else {
            let reason = format!("it holds {} recordings; name one of them", inside.len());
            return Err(format!("cannot pack the folder `{}`: {reason}", path.display()).into());
        };
        let mut opened = recording::open(only)?;
        let head = opened.whole_head()?;
        if !head.by_contrail {
            let hint = "`contrail import` makes a fixture of it";
            return Err(format!("`{}` is a recording of another tool; {hint}", only.display()).into());
        }
        recorded.clone_from(&head.recorded);
        unproven = head.unproven || head.journal;
        sources.push(FoldSource { paths: vec![only.clone()], take: Take::All });
    }
    if let Some(journal) = journal {
        if path.exists() && Journal::renewal(&journal)?.is_some() {
            return Err(format!(
                "`{}` holds a killed recording that was to replace entries of `{}`; pack one of the two: name the journal, \
                 or move it away",
                journal.display(),
                path.display()
            )
            .into());
        }
        sources.push(FoldSource { paths: Journal::sources(&journal)?, take: Take::All });
        recorded = None;
        unproven = true;
    }
    Ok(PackInput { sources, recorded, unproven })
}
