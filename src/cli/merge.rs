//! `contrail merge`: two fixtures as one, for people and as git's merge driver.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use bytes::Bytes;
use contrail_contract::CheckOptions;
use contrail_exchange::{Exchange, plural::plural, visible::visible};
use contrail_recording::{
    self as recording, Check, FixturePath, FoldOptions, FoldSource, Identity, Keep, MatchRules, Take,
};
use contrail_redact::Redactor;

use super::{
    ContractArgs, Failure, Outcome,
    options::contract::plan,
    printer::{self, line},
    sources,
};

/// Merge two fixtures, for people and as git's merge driver
#[derive(Debug, clap::Args)]
pub struct Args {
    /// BASE OURS THEIRS: HAR files of one fixture, merged into OURS; with --out two fixtures
    #[arg(value_name = "FIXTURE", required = true, num_args = 2..=3)]
    pub(super) fixtures: Vec<PathBuf>,
    /// New fixture for the entries of both: a folder with one file per body, or a single file if the name ends in .har
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,
    #[command(flatten)]
    contract: ContractArgs,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    match (args.fixtures.as_slice(), &args.out) {
        ([base, ours, theirs], None) => driver(base, ours, theirs),
        ([first, second], Some(out)) => together(first, second, out, &args.contract),
        _ => Err("name BASE OURS THEIRS, as git does, or two fixtures and --out".into()),
    }
}

fn conflict(what: &str, hint: &str) {
    printer::warn(&visible(&format!("{what}; {hint}")));
}

fn driver(base: &Path, ours: &Path, theirs: &Path) -> Result<Outcome, Failure> {
    let read = |path: &Path| {
        fs::read(path).map(Bytes::from).map_err(|error| format!("cannot read `{}`: {error}", path.display()))
    };
    let merged = recording::merge(&read(base)?, &read(ours)?, &read(theirs)?)
        .map_err(|(side, why)| format!("{side} {why}; merge the file by hand, or take one side and record again"))?;
    fs::write(ours, merged.text).map_err(|error| format!("cannot write `{}`: {error}", ours.display()))?;
    for what in &merged.conflicts {
        conflict(what, "keep one side, or record it again");
    }
    Ok(Outcome { findings: !merged.conflicts.is_empty(), ..Outcome::CLEAN })
}

/// What the second of two fixtures shares with the first: entries by their index, and requests with other answers.
#[derive(Default)]
struct Shared {
    equal: BTreeSet<usize>,
    differ: Vec<String>,
}

fn shared(first: &Path, second: &Path) -> Result<Shared, Failure> {
    let mut rules = MatchRules::default();
    for path in [first, second] {
        let mut opened = recording::open(path)?;
        let head = opened.whole_head()?;
        if !head.by_contrail || head.journal {
            return Err(format!("`{}` is no fixture of contrail's; `contrail import` makes one", path.display()).into());
        }
        rules.add(&head.rules);
    }
    let mut known: BTreeMap<Identity, Vec<Exchange>> = BTreeMap::new();
    let identified = |entry: &recording::Entry| {
        let request = &entry.exchange.request;
        let operation = entry.note.as_ref().and_then(|note| note.verdict.operation.as_deref());
        Identity::of(request, &rules.ignored(operation, request.method.as_str(), request.target.path()))
    };
    for entry in recording::open(first)? {
        let entry = entry?;
        known.entry(identified(&entry)).or_default().push(entry.exchange);
    }
    let mut seen: BTreeMap<Identity, usize> = BTreeMap::new();
    let mut shared = Shared::default();
    for entry in recording::open(second)? {
        let entry = entry?;
        let identity = identified(&entry);
        let nth = seen.entry(identity.clone()).or_default();
        *nth += 1;
        match known.get(&identity).and_then(|entries| entries.get(*nth - 1)) {
            None => {}
            Some(own) if recording::same_answer(own, &entry.exchange) => drop(shared.equal.insert(entry.index)),
            Some(_) => {
                let request = &entry.exchange.request;
                shared.differ.push(format!("{} {}", request.method, request.target.path_and_query));
            }
        }
    }
    Ok(shared)
}

fn together(first: &Path, second: &Path, out: &Path, contract: &ContractArgs) -> Result<Outcome, Failure> {
    sources::refuse_pipes(&[first, second])?;
    let [first, second] = [first, second].map(|path| Ok::<_, Failure>(FixturePath::find(path)?.har().to_path_buf()));
    let (first, second) = (first?, second?);
    if FixturePath::prepare(out)?.is_taken() {
        return Err(format!("`{}` exists already; name a new fixture", out.display()).into());
    }
    let shared = shared(&first, &second)?;
    for request in &shared.differ {
        conflict(&format!("both recorded {request}"), "record it again into one of them");
    }
    if !shared.differ.is_empty() {
        return Ok(Outcome { findings: true, ..Outcome::CLEAN });
    }
    let contract = contract.load()?;
    let options = CheckOptions { tenant_origins: vec![recording::TENANT_ORIGIN.to_owned()], ..CheckOptions::default() };
    let check = |exchange: &Exchange| contract.check(exchange, &options);
    let today = recording::today();
    let folded = recording::fold(
        &[
            FoldSource { paths: vec![first], take: Take::All },
            FoldSource { paths: vec![second], take: Take::Without(shared.equal) },
        ],
        out,
        &FoldOptions {
            check: Some(Check { contract: contract.hash(), check: &check }),
            keep: &[Keep::All],
            keep_host: true,
            ..FoldOptions::new(&Redactor::new(plan(&contract, &[])?), &today)
        },
    )?;
    line(&format!("{} in {}", plural(folded.entries, "exchange"), folded.har.display()));
    Ok(Outcome::CLEAN)
}
