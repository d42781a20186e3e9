//! `contrail watch`: proxy and check.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    Failure, Format, Outcome,
    listeners::lacking,
    report_files::{self, Used},
    serve::{JudgeArgs, ProxyArgs, Reach, Setup},
    summary,
};
use crate::{
    contract::CheckOptions,
    pipeline::{self, Enforce},
    plural::plural,
    recording::{Journal, JournalContext, TrailOptions},
    redact::Redactor,
    report::Title,
    sandbox::{Client, Seed, Tenant},
    upstream::{
        Origin, Upstream,
        live::{Access, Http2, Live, Via},
        own::OwnAddresses,
    },
    visible::visible,
};

/// Proxy and check traffic; with --trail, keep an audit trail
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    trail: TrailArgs,
    #[command(flatten)]
    upstream: UpstreamArgs,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    judge: JudgeArgs,
    #[command(flatten)]
    proxy: ProxyArgs,
}

impl Args {
    /// How it listens, and who answers.
    pub(super) fn network(&self) -> Network<'_> {
        Network { proxy: &self.proxy, upstream: &self.upstream, trail: Some(&self.trail) }
    }
}

/// The options of a proxy that may need each other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Network<'a> {
    pub(super) proxy: &'a ProxyArgs,
    pub(super) upstream: &'a UpstreamArgs,
    pub(super) trail: Option<&'a TrailArgs>,
}

impl Network<'_> {
    /// What is wrong with an option that was `typed` and lacks another one, if one was.
    pub(super) fn lacking(self, typed: &dyn Fn(&str) -> bool) -> Option<String> {
        let around_command = !self.proxy.command.is_empty();
        let doors = self.proxy.doors.misplaced(around_command, typed);
        doors.or_else(|| self.upstream.lacking(typed)).or_else(|| self.trail.and_then(|trail| trail.lacking(typed)))
    }
}

/// Who answers
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Upstream")]
pub struct UpstreamArgs {
    /// Origin of the tenant, such as `https://tenant.example`, or `sandbox` for the embedded tenant
    #[arg(long, value_name = "URL|sandbox", required = true)]
    pub upstream: Option<Named>,
    /// Certificate authorities to trust for the upstream in addition to the system's, PEM
    #[arg(long, value_name = "FILE")]
    pub upstream_ca: Option<PathBuf>,
    /// Client certificate chain for the upstream, PEM
    #[arg(long, value_name = "FILE")]
    pub upstream_cert: Option<PathBuf>,
    /// Private key of --upstream-cert, PEM
    #[arg(long, value_name = "FILE")]
    pub upstream_key: Option<PathBuf>,
    /// Proxy to reach the upstream, `http://[USER:PASSWORD@]HOST:PORT`, or `none` [default: from `HTTPS_PROXY`,
    /// `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`]
    #[arg(long, value_name = "URL", hide_env_values = true)]
    pub upstream_proxy: Option<String>,
    /// Use of HTTP/2 to the upstream
    #[arg(long, value_enum, default_value_t)]
    pub upstream_http2: Http2,
    /// JSON file with the data of `--upstream sandbox`, as for `contrail sandbox --seed`
    #[arg(long, value_name = "FILE")]
    pub seed: Option<PathBuf>,
}

/// Where the audit journal is kept
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Audit trail")]
pub struct TrailArgs {
    /// Keep the journal in this folder as an audit trail: segments with a hash chain
    #[arg(long, value_name = "DIR")]
    pub trail: Option<PathBuf>,
    /// Maximum size of a trail segment
    #[arg(long, value_name = "BYTES", default_value = "64MiB", value_parser = super::options::values::size::<u64>)]
    pub trail_segment: u64,
    /// Append the head of the trail's hash chain to this file at the start, at each new segment and at the end; writers
    /// of the trail should not have write access to it
    #[arg(long, value_name = "FILE")]
    pub head_to: Option<PathBuf>,
    /// Complete a response only after its entry is on disk; 503 while the journal cannot be written
    #[arg(long)]
    pub durable: bool,
}

impl TrailArgs {
    /// What is wrong with an option that was `typed` and lacks another one, if one was.
    pub(super) fn lacking(&self, typed: &dyn Fn(&str) -> bool) -> Option<String> {
        (self.trail.is_none() && typed("head-to")).then(|| lacking("head-to", "--trail DIR"))
    }

    /// The files that a trail writes.
    pub(super) fn uses(&self, used: &mut Used) {
        if let Some(folder) = &self.trail {
            used.tree("trail", folder);
        }
        used.files("head file", &self.head_to);
    }

    /// Opens the trail, if there is to be one.
    pub(super) fn open(&self, context: &JournalContext, format: Format) -> Result<Option<Journal>, Failure> {
        let Some(folder) = &self.trail else { return Ok(None) };
        let options = TrailOptions { segment: self.trail_segment, head_to: self.head_to.clone() };
        let (mut journal, leftover) = Journal::open_trail(folder, context.clone(), &options)?;
        for alarm in journal.alarms() {
            summary::event(format, "alarm", alarm.as_str(), &format!("ALARM: {alarm}"));
        }
        if leftover.torn > 0 {
            let (folder, bytes) = (folder.display(), plural(leftover.torn, "byte"));
            let said = format!(
                "dropped a torn last line from the last segment of `{folder}` ({bytes}): contrail was killed while it wrote the exchange"
            );
            summary::event(format, "torn", leftover.torn, &said);
        }
        Ok(Some(journal))
    }

    /// Ends the trail, if this is one: keeps its head elsewhere, and counts the entries that hold a secret that was
    /// recognised later. What the summary says of it.
    pub(super) fn end(
        &self,
        journal: &pipeline::SharedJournal,
        redactor: &Redactor,
        counts: &mut pipeline::Counts,
    ) -> summary::Extra {
        let Some(folder) = &self.trail else { return Vec::new() };
        let mut journal = journal.lock().unwrap_or_else(PoisonError::into_inner);
        // What could not be written before may fit now.
        if let Err(error) = journal.write() {
            counts.journal_error.get_or_insert(error.to_string());
        }
        let mut said: summary::Extra = vec![("trail", folder.display().to_string().into())];
        said.extend(journal.head().map(|head| ("head of its chain", head.hash.clone().into())));
        if let Err(error) = journal.ensure() {
            counts.journal_error.get_or_insert(error.to_string());
        }
        counts.head_error = journal.keep_head().err().map(|error| error.with_cause());
        let alarms = journal.alarms();
        if !alarms.is_empty() {
            said.push(("ALARM", alarms.join("; ").into()));
        }
        (counts.late, counts.reread_error) = late(&journal.segments(), redactor);
        said
    }
}

/// How many entries hold a secret that was recognised after they were written; also the first segment that cannot be
/// read again, with the cause.
fn late(segments: &[PathBuf], redactor: &Redactor) -> (u64, Option<String>) {
    let (mut late, mut unread) = (0, None);
    for segment in segments {
        if let Err(error) = late_in(segment, redactor, &mut late) {
            unread.get_or_insert_with(|| format!("`{}`: {error}", segment.display()));
        }
    }
    (late, unread)
}

fn late_in(segment: &Path, redactor: &Redactor, late: &mut u64) -> io::Result<()> {
    for line in BufReader::new(File::open(segment)?).split(b'\n') {
        *late += u64::from(!redactor.scan(&line?).is_empty());
    }
    Ok(())
}

/// Which exchanges count, and which may pass
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Selection")]
pub struct FilterArgs {
    /// Judge and record only this operation; other requests are still forwarded; repeatable
    #[arg(long, value_name = "OPERATION")]
    pub only: Vec<String>,
    /// Neither judge nor record requests with this path, as sent; a trailing `*` matches any suffix; repeatable
    #[arg(long, value_name = "PATH", value_parser = super::options::values::excluded)]
    pub exclude: Vec<String>,
    /// Hold messages until they are judged, and replace those that violate the contract by errors
    #[arg(long, value_enum)]
    pub enforce: Option<Enforce>,
}

/// The value of `--upstream`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Named {
    /// The embedded tenant.
    Sandbox,
    /// A tenant somewhere.
    Origin(Origin),
}

impl std::str::FromStr for Named {
    type Err = crate::upstream::OriginError;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        if word == "sandbox" { Ok(Self::Sandbox) } else { word.parse().map(Self::Origin) }
    }
}

/// An upstream that is ready to answer.
#[derive(Debug)]
pub struct Ready {
    /// Who answers.
    pub upstream: Arc<dyn Upstream>,
    /// Its origin.
    pub origin: String,
    /// A client of the embedded tenant, if it is that.
    client: Option<Introduced>,
}

/// A client of the embedded tenant that may do everything there.
#[derive(Debug)]
struct Introduced {
    id: String,
    secret: String,
    /// The secret is the seed's.
    seeded: bool,
}

impl UpstreamArgs {
    /// The tenant's origin; `None` for the embedded one.
    #[must_use]
    pub fn origin(&self) -> Option<&Origin> {
        match &self.upstream {
            Some(Named::Origin(origin)) => Some(origin),
            Some(Named::Sandbox) | None => None,
        }
    }

    /// The files that an upstream is set up from.
    pub(super) fn uses(&self, used: &mut Used) {
        let Self { upstream_ca, upstream_cert, upstream_key, seed, .. } = self;
        used.files("certificate", [upstream_ca, upstream_cert, upstream_key].into_iter().flatten());
        used.files("seed", seed);
    }

    /// What is wrong with an option that was `typed` and lacks another one, or with a certificate without its key.
    pub(super) fn lacking(&self, typed: &dyn Fn(&str) -> bool) -> Option<String> {
        if self.upstream.is_none() {
            let all = ["upstream-ca", "upstream-cert", "upstream-key", "upstream-proxy", "upstream-http2", "seed"];
            let option = all.into_iter().find(|option| typed(option));
            return option.map(|option| lacking(option, "--upstream URL"));
        }
        if self.origin().is_some() && typed("seed") {
            return Some("--seed goes with --upstream sandbox only".to_owned());
        }
        let shown = self.origin().is_some_and(|origin| origin.https);
        let (cert, key) = (self.upstream_cert.is_some(), self.upstream_key.is_some());
        [("upstream-cert", cert && !key, "--upstream-key FILE"), ("upstream-key", key && !cert, "--upstream-cert FILE")]
            .into_iter()
            .find(|(option, lacks, _)| *lacks && (shown || typed(option)))
            .map(|(option, _, other)| lacking(option, other))
    }

    /// What is said of an option that was `typed` and has nothing to do here, if one was: a script may name it for all
    /// its upstreams. The authorities serve hosts that the proxy `intercepts`, too.
    pub(super) fn idle(&self, intercepts: bool, typed: &dyn Fn(&str) -> bool) -> Option<String> {
        let tls = ["upstream-ca", "upstream-cert", "upstream-key"].as_slice();
        let (named, proxied) = match &self.upstream {
            Some(Named::Sandbox) => ("sandbox answers from within contrail".to_owned(), ["upstream-proxy"].as_slice()),
            Some(Named::Origin(origin)) if !origin.https => (format!("{origin} is plain http"), [].as_slice()),
            Some(Named::Origin(_)) | None => return None,
        };
        let unused = |option: &&&str| typed(option) && !(intercepts && **option == "upstream-ca");
        let option = tls.iter().chain(proxied).find(unused)?;
        Some(format!("--{option} has no effect, since --upstream {named}"))
    }

    /// Where the proxy may open connections to. Intercepted hosts are not shown the upstream's client certificate.
    #[must_use]
    pub fn reach(&self) -> Reach {
        let access = Access { roots: self.upstream_ca.clone(), http2: self.upstream_http2, ..Access::default() };
        // A proxy on the way looks the upstream's name up, and the embedded tenant's is no name of the network.
        let direct = self.origin().is_some_and(|origin| self.access(origin).is_ok_and(|access| access.via.is_none()));
        Reach::Anywhere { access: Box::new(access), direct }
    }

    fn access(&self, origin: &Origin) -> Result<Access, Failure> {
        let via = match self.upstream_proxy.as_deref() {
            Some("none") => None,
            Some(named) => Some(named.parse::<Via>().map_err(|error| format!("--upstream-proxy: {error}"))?),
            None => Via::from_environment(origin, |name| std::env::var(name).ok())?,
        };
        Ok(Access {
            roots: self.upstream_ca.clone(),
            identity: self.upstream_cert.clone().zip(self.upstream_key.clone()),
            via,
            http2: self.upstream_http2,
            own: OwnAddresses::default(),
        })
    }

    /// Sets the upstream up; nothing is connected yet.
    ///
    /// # Errors
    ///
    /// `--upstream-ca` or `--seed` cannot be used.
    pub fn ready(&self, proxy: &ProxyArgs) -> Result<Ready, Failure> {
        match &self.upstream {
            None => Err("there is no upstream; name the tenant with --upstream URL".into()),
            Some(Named::Origin(origin)) => {
                let live = Live::new(origin.clone(), self.access(origin)?, proxy.live_limits())?;
                Ok(Ready { upstream: Arc::new(live), origin: origin.to_string(), client: None })
            }
            Some(Named::Sandbox) => {
                let seed = match &self.seed {
                    Some(file) => Seed::load(file)?,
                    None => Seed::built_in()?,
                };
                let index = introduced(&seed.clients);
                let seeded =
                    index.and_then(|index| seed.clients.get(index)).is_some_and(|client| client.secret.is_some());
                let tenant = Tenant::new(seed, &[])?;
                let client = index.and_then(|index| tenant.clients().get(index)).map(|client| Introduced {
                    id: client.id.clone(),
                    secret: client.secret.clone().unwrap_or_default(),
                    seeded,
                });
                let origin = tenant.origin().to_owned();
                Ok(Ready { upstream: Arc::new(tenant), origin, client })
            }
        }
    }
}

impl Ready {
    /// The variables that give a command the credentials of the embedded tenant's client; redaction knows the secret from
    /// now on, wherever the command sends it.
    pub(super) fn for_command(&self, proxy: &ProxyArgs, redactor: &Redactor) -> Vec<(&'static str, String)> {
        let Some(Introduced { id, secret, .. }) = self.client.as_ref().filter(|_| !proxy.command.is_empty()) else {
            return Vec::new();
        };
        redactor.remember_client_secret(secret);
        vec![("CONTRAIL_SANDBOX_CLIENT_ID", id.clone()), ("CONTRAIL_SANDBOX_CLIENT_SECRET", secret.clone())]
    }

    /// Says who may ask the embedded tenant for tokens, where no command is given it. A secret that was made at this start
    /// opens nothing else; one of a seed is never shown.
    pub(super) fn introduce(&self, proxy: &ProxyArgs, format: Format) {
        let Some(Introduced { id, secret, seeded }) = &self.client else { return };
        if !proxy.command.is_empty() {
            return;
        }
        let secret = if *seeded { "as in --seed" } else { secret };
        let said = format!("sandbox client {} secret {secret}", visible(id));
        summary::event(format, "sandboxClient", id.as_str(), &said);
    }
}

/// Which client is introduced: of those whose tokens live and whose requests are not counted, the first with most scopes.
fn introduced(clients: &[Client]) -> Option<usize> {
    let usable = |client: &&Client| client.global && client.token_lifetime > 0 && client.rate_limit.is_none();
    let most = clients.iter().filter(usable).map(|client| client.scopes.len()).max()?;
    clients.iter().position(|client| usable(&client) && client.scopes.len() == most)
}

impl FilterArgs {
    pub(super) fn setup(&self, origin: &str) -> Setup {
        Setup {
            options: CheckOptions { tenant_origins: vec![origin.to_owned()], ..CheckOptions::default() },
            only: self.only.clone(),
            exclude: self.exclude.clone(),
            enforce: self.enforce.unwrap_or_default(),
            ..Setup::default()
        }
    }
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let mut used = Used::default();
    args.trail.uses(&mut used);
    args.upstream.uses(&mut used);
    args.judge.check_reports(&args.proxy, used)?;
    report_files::or_failure(&args.judge.report, || watch(args))
}

fn watch(args: &Args) -> Result<Outcome, Failure> {
    let ready = args.upstream.ready(&args.proxy)?;
    let contract = args.judge.contract.load()?;
    let mut setup = args.filter.setup(&ready.origin);
    if args.trail.durable && args.trail.trail.is_none() {
        return Err("--durable needs something to write: name a folder with --trail DIR".into());
    }
    let mut trail = None;
    let context = JournalContext { upstream: ready.origin.as_str().into(), contract: contract.hash().into() };
    if let Some(mut journal) = args.trail.open(&context, args.judge.format)? {
        if args.trail.durable {
            journal.set_durable();
        }
        let journal = Arc::new(Mutex::new(journal));
        trail = Some(Arc::clone(&journal));
        setup.journal = Some(Box::new(journal));
        setup.durable = args.trail.durable;
    }
    let pipeline = args.judge.pipeline(Setup { contract: Some(contract), ..setup })?;
    let proxy = ProxyArgs { for_command: ready.for_command(&args.proxy, pipeline.redactor()), ..args.proxy.clone() };
    let introduce = || ready.introduce(&proxy, args.judge.format);
    let ran = proxy.run(&pipeline, Arc::clone(&ready.upstream), &ready.origin, &args.upstream.reach(), introduce)?;
    let mut outcome = pipeline.finish(args.judge.collector(Title::default()));
    let kept = match &trail {
        Some(trail) => args.trail.end(trail, pipeline.redactor(), &mut outcome.counts),
        None => Vec::new(),
    };
    let next = args.trail.trail.as_ref().map(|path| format!("contrail verify {}", path.display()));
    let mut exit = Outcome { findings: outcome.collector.fails(), command: ran.failure(), ..Outcome::CLEAN };
    outcome.collector.upstream(&ready.origin);
    summary::conclude(&mut outcome, &mut exit, Vec::new(), pipeline.redactor(), &args.judge.report);
    summary::print(args.judge.format, &outcome, &kept, next.as_deref());
    summary::reports(&mut outcome, pipeline.redactor(), &args.judge.report)?;
    Ok(exit)
}
