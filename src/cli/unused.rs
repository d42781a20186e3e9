//! `contrail unused`: recorded exchanges that none of several replays requested.
//!
//! Each replay writes what it left unused (`--used FILE`). A recording is known by the digest of its file, so the replays
//! may have run on different machines.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use contrail_contract::CheckOptions;
use contrail_exchange::{Exchange, plural::plural, visible::visible};
use contrail_recording::{self as recording, Check, FixturePath, FoldOptions, FoldSource, Keep, Take};
use contrail_redact::Redactor;
use contrail_report as report;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    ContractArgs, Failure, Format, Outcome,
    options::contract::plan,
    printer::{Printer, line, write_whole},
    progress::folding,
    sources,
};

/// List recorded exchanges that several replays left unused
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Fixtures, or folders of them
    #[arg(value_name = "FIXTURE", required = true)]
    pub(super) fixtures: Vec<PathBuf>,
    /// File that a replay of them wrote (`contrail replay --used FILE`); repeatable
    #[arg(long, value_name = "FILE", required = true)]
    used: Vec<PathBuf>,
    /// Remove them from the fixtures
    #[arg(long)]
    prune: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    contract: ContractArgs,
}

/// What `--used` writes: by the digest of each recording's file, what the replay left unused.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Usage {
    recordings: HashMap<String, Left>,
}

/// What a replay left unused of a recording.
#[derive(Debug, Serialize, Deserialize)]
struct Left {
    /// The file, for people.
    name: String,
    /// Method and target of each entry that no request used and that could have been served, by its index.
    unused: Entries,
}

type Entries = BTreeMap<usize, String>;

/// Writes what a replay of these recordings left unused: all of the fixtures that were `idle`.
///
/// # Errors
///
/// The system's.
pub(super) fn write<'a>(
    path: &Path,
    recordings: impl IntoIterator<Item = &'a PathBuf>,
    unused: &[report::Unused],
    idle: &[PathBuf],
) -> Result<(), Failure> {
    let mut usage = Usage::default();
    for named in recordings {
        for file in recording::sources(named)? {
            let name = file.display().to_string();
            let entry = |one: &report::Unused| {
                let index = one.entry.strip_prefix(&name)?.strip_prefix(" entry ")?.parse().ok()?;
                Some((index, one.request.clone()))
            };
            let unused: Entries = if idle.iter().any(|fixture| file.starts_with(fixture)) {
                entries(&file)?
            } else {
                unused.iter().filter_map(entry).collect()
            };
            // Of equal files, what any of them needs stays.
            let left = usage.recordings.entry(digest(&file)?).or_insert(Left { name, unused: unused.clone() });
            left.unused.retain(|entry, _| unused.contains_key(entry));
        }
    }
    let text = format!("{:#}\n", serde_json::to_value(&usage)?);
    let failed = |error| format!("--used: cannot write to {}: {error}", path.display());
    Ok(write_whole(path, text.as_bytes()).map_err(failed)?)
}

/// All entries of a recording.
fn entries(path: &Path) -> Result<Entries, Failure> {
    let mut entries = Entries::new();
    for entry in recording::open(path)? {
        let recording::Entry { index, exchange, .. } = entry?;
        let request = &exchange.request;
        entries.insert(index, format!("{} {}", request.method, request.target.path_and_query));
    }
    Ok(entries)
}

fn digest(path: &Path) -> Result<String, Failure> {
    let bytes = fs::read(path).map_err(|error| format!("cannot read `{}`: {error}", path.display()))?;
    Ok(recording::sha256(&bytes))
}

impl Args {
    /// Each file of the recordings, and what none of the replays requested of it.
    fn unused(&self) -> Result<Vec<(PathBuf, Entries)>, Failure> {
        let read = |path: &PathBuf| -> Result<Usage, Failure> {
            let shown = path.display();
            let text = fs::read(path).map_err(|error| format!("--used: cannot read {shown}: {error}"))?;
            Ok(serde_json::from_slice(&text)
                .map_err(|error| format!("--used: {shown} is not what `contrail replay --used` writes: {error}"))?)
        };
        let usages: Vec<Usage> = self.used.iter().map(read).collect::<Result<_, _>>()?;
        let mut all = Vec::new();
        for named in sources::recordings(&self.fixtures)? {
            for file in recording::sources(named)? {
                let digest = digest(&file)?;
                let mut replays = usages.iter().filter_map(|usage| usage.recordings.get(&digest));
                let Some(first) = replays.next() else {
                    let shown = file.display();
                    let why = "no --used file is of it as it is now; replay it again";
                    return Err(format!("`{shown}`: {why}").into());
                };
                let mut unused = first.unused.clone();
                for other in replays {
                    unused.retain(|entry, _| other.unused.contains_key(entry));
                }
                all.push((file, unused));
            }
        }
        Ok(all)
    }
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let all = args.unused()?;
    if args.prune {
        return prune(args, all);
    }
    let mut out = Printer::stdout();
    for (file, unused) in &all {
        let file = file.display().to_string();
        for (entry, request) in unused {
            match args.format {
                Format::Text => writeln!(out, "{}", visible(&format!("{file} entry {entry}: {request}")))?,
                Format::Json => writeln!(out, "{}", json!({"recording": file, "entry": entry, "request": request}))?,
            }
        }
    }
    out.flush()?;
    Ok(Outcome { findings: all.iter().any(|(_, unused)| !unused.is_empty()), ..Outcome::CLEAN })
}

fn prune(args: &Args, all: Vec<(PathBuf, Entries)>) -> Result<Outcome, Failure> {
    let contract = args.contract.load()?;
    let redactor = Redactor::new(plan(&contract, &[])?);
    let options = CheckOptions { tenant_origins: vec![recording::TENANT_ORIGIN.to_owned()], ..CheckOptions::default() };
    let check = |exchange: &Exchange| contract.check(exchange, &options);
    let today = recording::today();
    // Before anything is written.
    let mut heads = Vec::new();
    for (file, _) in &all {
        let mut opened = recording::open(file)?;
        let head = opened.whole_head()?.clone();
        if !head.by_contrail || head.journal {
            return Err(format!(
                "`{}` is no fixture of contrail's; --prune removes from fixtures only",
                file.display()
            )
            .into());
        }
        heads.push(head);
    }
    for ((file, unused), head) in all.into_iter().zip(heads) {
        if unused.is_empty() {
            continue;
        }
        let folder = file.parent().filter(|_| !recording::body_files(&file).is_empty());
        let place = folder.map_or_else(|| file.clone(), Path::to_path_buf);
        sources::refuse_journals(&place, &[])?;
        FixturePath::prepare(&place)?;
        let removed: BTreeSet<usize> = unused.into_keys().collect();
        let (count, progress) = (removed.len(), folding());
        let folded = recording::fold(
            &[FoldSource { paths: vec![file.clone()], take: Take::Without(removed) }],
            &place,
            &FoldOptions {
                check: Some(Check { contract: contract.hash(), check: &check }),
                keep: &[Keep::All],
                keep_host: true,
                unproven: head.unproven,
                recorded: head.recorded.as_deref(),
                progress: Some(&progress),
                ..FoldOptions::new(&redactor, &today)
            },
        )?;
        let (gone, stay) = (plural(count, "exchange"), folded.entries);
        line(&format!("{}: removed {gone}, {stay} stay", place.display()));
    }
    Ok(Outcome::CLEAN)
}
