//! `contrail import`: another tool's recording into ours, redacted on the way.

mod cassette;
mod hoverfly;
mod nock;
mod plan;
mod vcr;
mod wiremock;

use std::{
    borrow::Cow,
    collections::BTreeMap,
    io::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use contrail_contract::{CheckOptions, Contract};
use contrail_exchange::{Exchange, plural::plural, visible::visible};
use contrail_pipeline::ContractShapes;
use contrail_proxy::upstream::{Origin, masked};
use contrail_recording::{
    self as recording, Check, FixturePath, FoldOptions, FoldSource, Folded, Keep, Renew, Take, Tool,
};
use contrail_redact::Redactor;

use self::plan::{Fixture, Plan};
use super::{
    ContractArgs, Failure, Outcome,
    kinds::{self, FileKind},
    messages::quoted,
    options::{contract::plan, keep::KeepArgs, matching::MatchArgs},
    printer::line,
    progress::folding,
    sources,
};
use crate::config::Sources;

/// Convert another tool's recording into a redacted fixture
#[derive(Debug, clap::Args)]
pub struct Args {
    /// HAR files of any tool, cassettes of go-vcr, vcrpy, VCR, Polly, nock, WireMock or Hoverfly, or folders; each
    /// cassette of a folder becomes a fixture of its own below --out
    #[arg(value_name = "FILE", required = true)]
    pub(super) recordings: Vec<PathBuf>,
    /// The tool whose files these are [default: known by their content]
    #[arg(long, value_name = "KIND")]
    from: Option<Kind>,
    /// Path of the fixture: a folder with one file per body, or a single file if the name ends in .har
    #[arg(long, value_name = "PATH")]
    out: PathBuf,
    /// Add to the existing fixture; a new answer to a request that it holds replaces the old one
    #[arg(long, conflicts_with = "overwrite")]
    append: bool,
    /// Replace the existing fixture
    #[arg(long)]
    overwrite: bool,
    /// Origin of the tenant; exchanges with other sites are left out of HAR files, and kept of cassettes [default: the
    /// site of the requests to the contract's paths; of cassettes that of most requests]
    #[arg(long, value_name = "URL")]
    upstream: Option<String>,
    #[command(flatten)]
    kept: KeepArgs,
    /// Redact this in addition to the built-in plan: `pointer:/a`, `header:NAME`, `regex:…` or `personal`; repeatable
    #[arg(long, value_name = "WHAT")]
    redact: Vec<String>,
    #[command(flatten)]
    matching: MatchArgs,
    #[command(flatten)]
    contract: ContractArgs,
}

/// A tool whose cassettes are converted.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Kind {
    GoVcr,
    Vcrpy,
    Vcr,
    Polly,
    Nock,
    Wiremock,
    Hoverfly,
}

impl From<Kind> for Tool {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::GoVcr => Self::GoVcr,
            Kind::Vcrpy => Self::Vcrpy,
            Kind::Vcr => Self::Vcr,
            Kind::Polly => Self::Polly,
            Kind::Nock => Self::Nock,
            Kind::Wiremock => Self::WireMock,
            Kind::Hoverfly => Self::Hoverfly,
        }
    }
}

impl Args {
    /// Ignores what was meant for the proxy commands: the embedded tenant is the origin of no file.
    pub(super) fn ignore_sandbox(&mut self, sources: &Sources) {
        if sources.is_shared("upstream") && self.upstream.as_deref() == Some("sandbox") {
            self.upstream = None;
        }
    }
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let contract = args.contract.load()?;
    args.matching.check(&contract)?;
    sources::refuse_pipes(&args.recordings)?;
    let upstream = args.upstream.as_deref().map(named).transpose()?;
    let hostless = upstream.as_deref().unwrap_or(recording::TENANT_ORIGIN);
    let plan = Plan::of(&args.recordings, args.from.map(Tool::from), &args.out, hostless)?;
    let outs: Vec<PathBuf> = plan.fixtures.iter().map(|fixture| out_of(fixture, args)).collect();
    let places: Vec<FixturePath> = outs.iter().map(|out| destination(args, out)).collect::<Result<_, _>>()?;
    let from_cassettes = !plan.cassettes.is_empty();
    let seen = if from_cassettes || upstream.is_none() { origins(&plan, &contract)? } else { BTreeMap::new() };
    if from_cassettes && seen.is_empty() {
        plan.unreadable.iter().for_each(|wrong| line(&format!("left out: {wrong}")));
        return Err(format!("nothing imported: {}", carried_over(&plan, 0)).into());
    }
    let origin = match upstream {
        Some(origin) => origin,
        None => guessed(&seen, from_cassettes)?,
    };
    let mut import = Import {
        args,
        contract: &contract,
        origin: &origin,
        from_cassettes,
        folded: Folded::default(),
        secrets: BTreeMap::new(),
    };
    let (mut nothings, mut made) = (Vec::new(), 0);
    for ((fixture, out), place) in plan.fixtures.iter().zip(&outs).zip(&places) {
        match import.fold(fixture, out, place)? {
            None => made += 1,
            Some(nothing) => nothings.push(nothing),
        }
    }
    if made == 0 {
        return Err(nothings.into_iter().next().unwrap_or_else(|| "nothing imported".to_owned()).into());
    }
    import.print_summary(made);
    // A request without a host is one of the tenant's.
    let is_other = |site: &str| from_cassettes && site != origin && site != recording::TENANT_ORIGIN;
    let others = seen.iter().filter(|(site, _)| is_other(site));
    let others: BTreeMap<String, usize> = others.map(|(site, seen)| (site.clone(), seen.requests)).collect();
    if !others.is_empty() {
        let count: usize = others.values().sum();
        line(&format!("{count} of them with other sites, which stay as they are ({})", sites(&others)));
    }
    for wrong in &plan.unreadable {
        line(&format!("left out: {wrong}"));
    }
    if plan.left_out > 0 {
        let files = plural(plan.left_out, "recording");
        let _ =
            writeln!(std::io::stderr(), "{files} in the folder left out: not a cassette; import them by themselves");
    }
    if !nothings.is_empty() {
        line(&format!("{} without an exchange, so without a fixture", plural(nothings.len(), "recording")));
    }
    if from_cassettes {
        line(&carried_over(&plan, seen.values().map(|site| site.requests).sum()));
    }
    let named = quoted(&args.out) + &args.contract.command_line();
    let is_tree = plan.fixtures.iter().any(|fixture| fixture.name.is_some());
    let sessions = if is_tree { "--sessions " } else { "" };
    line(&format!("next: contrail verify {named}, contrail replay {sessions}{named}"));
    let folded = &import.folded;
    let unusable = folded.unsaved + folded.withheld + folded.own_answers;
    let lost = plan.losses.exchanges() + plan.unreadable.len() + if from_cassettes { unusable } else { 0 };
    Ok(Outcome { findings: lost > 0, ..Outcome::CLEAN })
}

/// `412 exchanges from 37 go-vcr cassettes; not carried over: 3 durations`.
fn carried_over(plan: &Plan, exchanges: usize) -> String {
    let cassettes =
        plan.cassettes.iter().map(|(tool, count)| plural(*count, &format!("{} {}", tool.name(), tool.noun())));
    let cassettes = cassettes.collect::<Vec<_>>().join(", ");
    let lost = plan.losses.in_words();
    let lost = if lost.is_empty() { "nothing".to_owned() } else { lost };
    format!("{} from {cassettes}; not carried over: {lost}", plural(exchanges, "exchange"))
}

/// Where a fixture goes.
fn out_of(fixture: &Fixture, args: &Args) -> PathBuf {
    fixture.name.as_ref().map_or_else(|| args.out.clone(), |name| args.out.join(name))
}

/// The place of a fixture, unless it is taken.
fn destination(args: &Args, out: &Path) -> Result<FixturePath, Failure> {
    let place = FixturePath::prepare(out)?;
    let there = place.is_taken();
    if there && !args.append && !args.overwrite {
        let out = out.display();
        return Err(format!("{out} exists already; --append adds to it, --overwrite replaces it").into());
    }
    sources::refuse_journals(out, &[])?;
    if there {
        kinds::replaces(if args.append { "--append" } else { "--overwrite" }, place.har(), FileKind::Recording)?;
        refuse_foreign(args, place.har())?;
    }
    Ok(place)
}

/// The fixtures of one import, and what they hold together.
struct Import<'a> {
    args: &'a Args,
    contract: &'a Arc<Contract>,
    origin: &'a str,
    /// What a test recorded on purpose stays: failures, and every site.
    from_cassettes: bool,
    folded: Folded,
    secrets: BTreeMap<&'static str, u64>,
}

impl Import<'_> {
    /// Makes one fixture; why there is none, if its files hold nothing for it.
    fn fold(&mut self, fixture: &Fixture, out: &Path, place: &FixturePath) -> Result<Option<String>, Failure> {
        let (args, contract) = (self.args, self.contract);
        let there = place.is_taken();
        let shapes = Arc::new(ContractShapes::new(Arc::clone(contract)));
        let redactor = Redactor::new(plan(contract, &args.redact)?).with_shapes(shapes);
        let options = CheckOptions {
            tenant_origins: vec![recording::TENANT_ORIGIN.to_owned(), self.origin.to_owned()],
            ..CheckOptions::default()
        };
        let check = |exchange: &Exchange| contract.check(exchange, &options);
        let mut from = Vec::new();
        if there && args.append {
            from.push(FoldSource { paths: vec![place.har().to_path_buf()], take: Take::All });
        }
        from.push(FoldSource { paths: fixture.files.clone(), take: Take::All });
        let (today, rules, progress) = (recording::today(), args.matching.rules(), folding());
        let keep = if self.from_cassettes && args.kept.keep.is_empty() {
            Cow::from(vec![Keep::All])
        } else {
            (&args.kept.keep).into()
        };
        let options = FoldOptions {
            check: Some(Check { contract: contract.hash(), check: &check }),
            keep: &keep,
            keep_host: args.kept.keep_host,
            keep_timings: args.kept.keep_timings,
            rules: Some(&rules),
            origin: Some(self.origin),
            converted: self.from_cassettes.then_some(&fixture.converted),
            renews: Some(if args.overwrite { Renew::Everything } else { Renew::Requests }),
            progress: Some(&progress),
            ..FoldOptions::new(&redactor, &today)
        };
        let folded = recording::fold(&from, out, &options)?;
        if folded.nothing {
            return Ok(Some(nothing(&folded, out, there)));
        }
        match &fixture.name {
            _ if there => {}
            Some(_) => recording::write_git_files_for_all(&args.out),
            None => recording::write_git_files(place),
        }
        for (kind, count) in redactor.counters().secrets {
            *self.secrets.entry(kind).or_default() += count;
        }
        self.folded.add(folded);
        Ok(None)
    }
}

/// Why a file without any lasting answer of the tenant changed nothing.
fn nothing(folded: &Folded, out: &Path, there: bool) -> String {
    let mut causes = Vec::new();
    if !folded.transient.is_empty() {
        let list: Vec<String> = folded.transient.iter().map(|(status, count)| format!("{status} × {count}")).collect();
        causes.push(format!("only transient answers ({}), which --keep keeps", list.join(", ")));
    }
    let without: usize = folded.no_answers.values().sum();
    for (count, what) in [(without, "without an answer"), (folded.own_answers, "that contrail answered itself")] {
        if count > 0 {
            causes.push(format!("{} {what}", plural(count, "exchange")));
        }
    }
    if !folded.elsewhere.is_empty() {
        causes.push(format!("exchanges with other sites ({})", sites(&folded.elsewhere)));
    }
    let cause = if causes.is_empty() { "no exchange".to_owned() } else { causes.join("; ") };
    let kept = if there { "is unchanged" } else { "was not made" };
    format!("nothing imported: the recording holds {cause}; {} {kept}", out.display())
}

/// Refuses to add to another tool's recording, and to replace one that is the input: it would be lost.
fn refuse_foreign(args: &Args, har: &Path) -> Result<(), Failure> {
    let Ok(mut opened) = recording::open(har) else { return Ok(()) };
    // The creator may follow the entries.
    if opened.head().by_contrail || opened.by_ref().any(|entry| entry.is_err()) || opened.head().by_contrail {
        return Ok(());
    }
    let shown = har.display();
    if args.append {
        let hint = "name a fixture of contrail, or a new path";
        return Err(format!("--append: `{shown}` is another tool's recording, not a fixture; {hint}").into());
    }
    for named in &args.recordings {
        if recording::sources(named)?.iter().any(|source| recording::resolved(source) == recording::resolved(har)) {
            let hint = "name another path for the fixture";
            return Err(format!("--overwrite: `{shown}` is the recording to import, and would be lost; {hint}").into());
        }
    }
    Ok(())
}

/// The origin that an option names.
fn named(origin: &str) -> Result<String, Failure> {
    let wrong = |_| format!("--upstream {}: write the tenant's origin, https://host, without a path", masked(origin));
    let origin: Origin = origin.parse().map_err(wrong)?;
    Ok(origin.to_string())
}

/// How often a site was asked.
#[derive(Debug, Default)]
struct Site {
    /// For paths of the contract.
    covered: usize,
    requests: usize,
}

/// The sites of the recordings, by origin.
fn origins(plan: &Plan, contract: &Contract) -> Result<BTreeMap<String, Site>, Failure> {
    let mut origins: BTreeMap<String, Site> = BTreeMap::new();
    for fixture in &plan.fixtures {
        for named in &fixture.files {
            for source in recording::sources(named)? {
                let opened = match fixture.converted.get(&source) {
                    Some(text) => recording::open_text(&source, text)?,
                    None => recording::open(&source)?,
                };
                for entry in opened {
                    let target = entry?.exchange.request.target;
                    let site = origins.entry(target.normal_origin()).or_default();
                    site.requests += 1;
                    site.covered += usize::from(contract.covers(target.path()));
                }
            }
        }
    }
    Ok(origins)
}

/// The origin that the contract's paths were asked of most. Of cassettes, which hold nothing but what a test needs, that
/// of most requests.
fn guessed(origins: &BTreeMap<String, Site>, from_cassettes: bool) -> Result<String, Failure> {
    let weight = |site: &Site| if from_cassettes { site.requests } else { site.covered };
    let most = origins.iter().max_by_key(|(_, site)| weight(site)).filter(|(_, site)| weight(site) > 0);
    most.map(|(origin, _)| origin.clone()).ok_or_else(|| {
        "the recordings hold no exchange with a path of the contract; name the tenant's origin with --upstream".into()
    })
}

/// Entries that lack the body of their response: how many, and the first of them.
fn unsaved(folded: &Folded) -> String {
    let entries = plural(folded.unsaved, "entry");
    let lack = if folded.unsaved == 1 { "lacks its response body" } else { "lack their response bodies" };
    let named: Vec<String> = folded
        .first_unsaved
        .iter()
        .take(5)
        .map(|(file, index)| format!("`{}` entry {index}", file.display()))
        .collect();
    let more = folded.unsaved - named.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!(
        "{entries} {lack} in the file, and replay never serves such an entry: {}{more}; export the file with content",
        named.join(", ")
    )
}

/// Sites that were left out, most exchanges first: `https://a.example 3, https://b.example 1`.
fn sites(elsewhere: &BTreeMap<String, usize>) -> String {
    let mut sites: Vec<_> = elsewhere.iter().collect();
    sites.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    let listed: Vec<String> = sites.iter().take(MAX_LISTED).map(|(site, count)| format!("{site} {count}")).collect();
    let more = if sites.len() > MAX_LISTED { format!(" and {} more", sites.len() - MAX_LISTED) } else { String::new() };
    format!("{}{more}", visible(&listed.join(", ")))
}

/// Sites that are named.
const MAX_LISTED: usize = 10;

impl Import<'_> {
    fn print_summary(&self, fixtures: usize) {
        let Self { folded, origin, args, secrets, .. } = self;
        for (journal, bytes) in &folded.torn {
            super::survey::report_torn(journal, *bytes);
        }
        let mut told = std::io::stderr();
        let (entries, out) = (plural(folded.entries, "exchange"), args.out.display());
        line(&match fixtures {
            1 => format!("{entries} with {origin} in {}", folded.har.display()),
            _ => format!("{entries} in {fixtures} fixtures below {out}; the tenant is {origin}"),
        });
        let transient: usize = folded.transient.values().sum();
        let elsewhere: usize = folded.elsewhere.values().sum();
        if elsewhere > 0 {
            let other = if elsewhere == 1 { "another site" } else { "other sites" };
            let _ = writeln!(told, "{elsewhere} with {other} left out ({})", sites(&folded.elsewhere));
        }
        for (count, one, many) in [
            (
                folded.withheld,
                "body left out: contrail cannot find its secrets",
                "bodies left out: contrail cannot find their secrets",
            ),
            (folded.not_http, "entry left out: CONNECT, or not HTTP", "entries left out: CONNECT, or not HTTP"),
            (
                transient,
                "transient answer left out (--keep keeps it)",
                "transient answers left out (--keep keeps them)",
            ),
            (
                folded.incomplete,
                "is incomplete; contrail marks it, and never serves it as complete",
                "are incomplete; contrail marks them, and never serves them as complete",
            ),
        ] {
            if count > 0 {
                let _ = writeln!(told, "{count} {}", if count == 1 { one } else { many });
            }
        }
        if folded.unsaved > 0 {
            line(&unsaved(folded));
        }
        if !secrets.is_empty() {
            let list: Vec<String> = secrets.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
            let _ = writeln!(told, "secrets replaced: {}", list.join(", "));
        }
    }
}
