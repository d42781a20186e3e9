//! `contrail import`: another tool's recording into ours, redacted on the way.

use std::{
    collections::BTreeMap,
    io::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{ContractArgs, Failure, Outcome, printer::line};
use crate::{
    contract::{CheckOptions, Contract},
    exchange::Exchange,
    pipeline::ContractShapes,
    plural::plural,
    recording::{self, Check, FoldOptions, FoldSource, Folded, Keep, Place, Take},
    redact::{Plan, Redactor},
    upstream::{Origin, masked},
    visible::visible,
};

/// Convert another tool's recording into a redacted fixture
#[derive(Debug, clap::Args)]
pub struct Args {
    /// HAR files of any tool, or folders of them
    #[arg(value_name = "FILE", required = true)]
    recordings: Vec<PathBuf>,
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
    #[arg(long, value_name = "RULE")]
    redact: Vec<String>,
    #[command(flatten)]
    contract: ContractArgs,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let contract = args.contract.load()?;
    if args.recordings.iter().any(|path| path.as_os_str() == "-") {
        return Err("import reads a recording more than once, and standard input comes only once; name a file".into());
    }
    let place = Place::prepare(&args.out)?;
    let there = place.is_taken();
    if there && !args.append && !args.overwrite {
        let out = args.out.display();
        return Err(format!("{out} exists already; --append adds to it, --overwrite replaces it").into());
    }
    let origin = match &args.upstream {
        Some(origin) => named(origin)?,
        None => guessed(&args.recordings, &contract)?,
    };
    let shapes = Arc::new(ContractShapes::new(Arc::clone(&contract)));
    let redactor = Redactor::new(Plan::new(&args.redact)?).with_shapes(shapes);
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
        ..FoldOptions::new(&redactor, &today)
    };
    let folded = recording::fold(&from, &args.out, &options)?;
    say(&folded, &origin, &args.out, &redactor);
    Ok(Outcome::CLEAN)
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
        "no exchange in there is one with the contract's paths; name the tenant's origin with --upstream".into()
    })
}

/// Sites that were left out, most exchanges first: `https://a.example 3, https://b.example 1`.
fn sites(elsewhere: &BTreeMap<String, usize>) -> String {
    let mut sites: Vec<_> = elsewhere.iter().collect();
    sites.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    let listed: Vec<String> = sites.iter().take(LISTED).map(|(site, count)| format!("{site} {count}")).collect();
    let more = if sites.len() > LISTED { format!(" and {} more", sites.len() - LISTED) } else { String::new() };
    format!("{}{more}", visible(&listed.join(", ")))
}

/// Sites that are named.
const LISTED: usize = 10;

fn say(folded: &Folded, origin: &str, out: &Path, redactor: &Redactor) {
    for (journal, bytes) in &folded.torn {
        super::verify::say_torn(journal, *bytes);
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
    let withheld = usize::try_from(counters.withheld).unwrap_or(usize::MAX);
    for (count, one, many) in [
        (
            withheld,
            "body left out: contrail cannot tell where its secrets are",
            "bodies left out: contrail cannot tell where their secrets are",
        ),
        (folded.not_http, "entry left out: CONNECT, or not HTTP", "entries left out: CONNECT, or not HTTP"),
        (transient, "transient answer left out (--keep keeps it)", "transient answers left out (--keep keeps them)"),
        (
            folded.incomplete,
            "is not whole; it is marked, and never served as whole",
            "are not whole; they are marked, and never served as whole",
        ),
    ] {
        if count > 0 {
            let _ = writeln!(told, "{count} {}", if count == 1 { one } else { many });
        }
    }
    if !counters.secrets.is_empty() {
        let list: Vec<String> = counters.secrets.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        let _ = writeln!(told, "secrets replaced: {}", list.join(", "));
    }
    line(&format!("next: contrail verify {0}, contrail replay {0}", out.display()));
}
