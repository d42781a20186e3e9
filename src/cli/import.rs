//! `contrail import`: another tool's recording into ours, redacted on the way.

use std::{
    collections::BTreeMap,
    io::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use contrail_contract::{CheckOptions, Contract};
use contrail_exchange::{Exchange, plural::plural, visible::visible};
use contrail_pipeline::ContractShapes;
use contrail_proxy::upstream::{Origin, masked};
use contrail_recording::{self as recording, Check, FixturePath, FoldOptions, FoldSource, Folded, Keep, Renew, Take};
use contrail_redact::Redactor;

use super::{
    ContractArgs, Failure, Outcome,
    kinds::{self, FileKind},
    messages::quoted,
    options::contract::plan,
    printer::line,
    sources,
};
use crate::config::Sources;

/// Convert another tool's recording into a redacted fixture
#[derive(Debug, clap::Args)]
pub struct Args {
    /// HAR files of any tool, or folders of them
    #[arg(value_name = "FILE", required = true)]
    pub(super) recordings: Vec<PathBuf>,
    /// Path of the fixture: a folder with one file per body, or a single file if the name ends in .har
    #[arg(long, value_name = "PATH")]
    out: PathBuf,
    /// Add to the existing fixture
    #[arg(long, conflicts_with = "overwrite")]
    append: bool,
    /// Replace the existing fixture
    #[arg(long)]
    overwrite: bool,
    /// Origin of the tenant; exchanges with other sites are left out [default: the site of the requests to the
    /// contract's paths]
    #[arg(long, value_name = "URL")]
    upstream: Option<String>,
    /// Keep transient responses: all, or those with status `429`, `408`, `5xx` or a single 5xx status; repeatable
    #[arg(long, value_name = "STATUS", num_args = 0..=1, default_missing_value = "all")]
    keep: Vec<Keep>,
    /// Keep the tenant's origin in the fixture instead of `https://tenant.example`
    #[arg(long)]
    keep_host: bool,
    /// Redact this in addition to the built-in plan: `pointer:/a`, `header:NAME`, `regex:…` or `personal`; repeatable
    #[arg(long, value_name = "WHAT")]
    redact: Vec<String>,
    #[command(flatten)]
    contract: ContractArgs,
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
    sources::refuse_pipes(&args.recordings)?;
    let place = FixturePath::prepare(&args.out)?;
    let there = place.is_taken();
    if there && !args.append && !args.overwrite {
        let out = args.out.display();
        return Err(format!("{out} exists already; --append adds to it, --overwrite replaces it").into());
    }
    sources::refuse_journals(&args.out, &[])?;
    if there {
        kinds::replaces(if args.append { "--append" } else { "--overwrite" }, place.har(), FileKind::Recording)?;
        refuse_foreign(args, place.har())?;
    }
    let origin = match &args.upstream {
        Some(origin) => named(origin)?,
        None => guessed(&args.recordings, &contract)?,
    };
    let shapes = Arc::new(ContractShapes::new(Arc::clone(&contract)));
    let redactor = Redactor::new(plan(&contract, &args.redact)?).with_shapes(shapes);
    let options = CheckOptions {
        tenant_origins: vec![recording::TENANT_ORIGIN.to_owned(), origin.clone()],
        ..CheckOptions::default()
    };
    let check = |exchange: &Exchange| contract.check(exchange, &options);
    let mut from = Vec::new();
    if there && args.append {
        from.push(FoldSource { paths: vec![place.har().to_path_buf()], take: Take::All });
    }
    from.push(FoldSource { paths: args.recordings.clone(), take: Take::All });
    let today = recording::today();
    let options = FoldOptions {
        check: Some(Check { contract: contract.hash(), check: &check }),
        keep: &args.keep,
        keep_host: args.keep_host,
        origin: Some(&origin),
        renews: Some(if args.overwrite { Renew::Everything } else { Renew::Nothing }),
        ..FoldOptions::new(&redactor, &today)
    };
    let folded = recording::fold(&from, &args.out, &options)?;
    if folded.nothing {
        return Err(nothing(&folded, &args.out, there).into());
    }
    print_summary(&folded, &origin, args, &redactor);
    Ok(Outcome::CLEAN)
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

/// The origin that the contract's paths were asked of most.
fn guessed(recordings: &[PathBuf], contract: &Contract) -> Result<String, Failure> {
    let mut origins: BTreeMap<String, usize> = BTreeMap::new();
    for named in recordings {
        for source in recording::sources(named)? {
            for entry in recording::open(&source)? {
                let target = entry?.exchange.request.target;
                if contract.covers(target.path()) {
                    *origins.entry(target.normal_origin()).or_default() += 1;
                }
            }
        }
    }
    let most = origins.into_iter().max_by_key(|(_, count)| *count);
    most.map(|(origin, _)| origin).ok_or_else(|| {
        "the recordings hold no exchange with a path of the contract; name the tenant's origin with --upstream".into()
    })
}

/// Entries that lack the body of their response: how many, and the first of them.
fn unsaved(folded: &Folded) -> String {
    let entries = plural(folded.unsaved, "entry");
    let lack = if folded.unsaved == 1 { "lacks its response body" } else { "lack their response bodies" };
    let named: Vec<String> =
        folded.first_unsaved.iter().map(|(file, index)| format!("`{}` entry {index}", file.display())).collect();
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

fn print_summary(folded: &Folded, origin: &str, args: &Args, redactor: &Redactor) {
    for (journal, bytes) in &folded.torn {
        super::survey::report_torn(journal, *bytes);
    }
    let mut told = std::io::stderr();
    line(&format!("{} with {origin} in {}", plural(folded.entries, "exchange"), folded.har.display()));
    let transient: usize = folded.transient.values().sum();
    let counters = redactor.counters();
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
        (transient, "transient answer left out (--keep keeps it)", "transient answers left out (--keep keeps them)"),
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
    if !counters.secrets.is_empty() {
        let list: Vec<String> = counters.secrets.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        let _ = writeln!(told, "secrets replaced: {}", list.join(", "));
    }
    let named = quoted(&args.out) + &args.contract.command_line();
    line(&format!("next: contrail verify {named}, contrail replay {named}"));
}
