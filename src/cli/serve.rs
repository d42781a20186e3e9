//! What `record`, `watch` and `replay` share: the proxy's and the judge's options, and running a proxy until it ends.

use std::{
    ffi::OsString,
    io::{self, IsTerminal as _},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::watch,
    task::JoinSet,
};

use super::{
    ContractArgs, Failure, Format,
    environment::Environment,
    listeners::{DoorArgs, Open},
    open_files::connections_that_fit,
    options::policy::PolicyArgs,
    options::values::{depth, positive, seconds, seconds_or_none, size, size_above_zero, whole, workers},
    printer::wants_colour,
    report_files::{self, Used},
    wrap,
};
use crate::{
    contract::{CheckOptions, Contract},
    exchange::DecodeLimits,
    finding::Rule,
    json,
    pipeline::{Console, ContractShapes, Enforce, Journal, Judge, LineFormat, Parts, Pipeline, VerdictCache},
    proxy::{Audience, Committed, Completed, Observer, Proxy, Settings, entry::listener, workers::Workers},
    redact::{Plan, Redactor},
    report::{self, Collector, Title},
    token::{Jwks, TokenCache},
    upstream::{
        Origin, Upstream, live,
        own::{OwnAddresses, Resolved},
        routes::Routes,
    },
};

/// How the proxy listens and what it bounds
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Proxy")]
pub struct ProxyArgs {
    /// Where the proxy listens.
    #[command(flatten)]
    pub doors: DoorArgs,
    /// Maximum size of a request body; 413 beyond. Responses have no limit
    #[arg(long, help_heading = "Limits", value_name = "BYTES", default_value = "64MiB", value_parser = size::<u64>)]
    pub max_body: u64,
    /// Maximum size of a body that is judged and recorded; the rest only passes through
    #[arg(long, help_heading = "Limits", value_name = "BYTES", default_value = "4MiB", value_parser = size::<usize>)]
    pub max_capture: usize,
    /// Memory for captured bodies in flight, in total; the first 64 KiB of each do not count. Beyond it, the recording
    /// cuts larger bodies
    #[arg(long, help_heading = "Limits", value_name = "BYTES", default_value = "256MiB", value_parser = size::<usize>)]
    pub max_captured: usize,
    /// Maximum number of connections; 503 beyond. Lowered with a warning if the open-file limit is too small
    #[arg(long, help_heading = "Limits", value_name = "N", default_value_t = 1024, value_parser = positive)]
    pub max_connections: usize,
    /// Maximum number of header fields of a request; 431 beyond
    #[arg(long, help_heading = "Limits", value_name = "N", default_value_t = 100, value_parser = positive)]
    pub max_headers: usize,
    /// Maximum number of header fields of an HTTP/1 response; 502 beyond. Over HTTP/2 the limit is 128 KiB
    #[arg(long, help_heading = "Limits", value_name = "N", default_value_t = 100, value_parser = positive)]
    pub max_response_headers: usize,
    /// Maximum size of a request head; 431 beyond
    #[arg(long, help_heading = "Limits", value_name = "BYTES", default_value = "64KiB", value_parser = size_above_zero)]
    pub max_header_bytes: usize,
    /// Maximum length of a request target; 414 beyond
    #[arg(long, help_heading = "Limits", value_name = "BYTES", default_value = "16KiB", value_parser = size_above_zero)]
    pub max_target: usize,
    /// Maximum time to receive a request head; 408 beyond, once it began
    #[arg(long, help_heading = "Timeouts", value_name = "SECS", default_value = "30", value_parser = seconds)]
    pub header_timeout: Duration,
    /// Maximum silence of a client within a request body; 408 beyond
    #[arg(long, help_heading = "Timeouts", value_name = "SECS", default_value = "60", value_parser = seconds)]
    pub body_timeout: Duration,
    /// Minimum rate of a request body in bytes per second, on average after the first --body-timeout; 408 below, 0 for
    /// no minimum
    #[arg(long, help_heading = "Timeouts", value_name = "BYTES", default_value = "500", value_parser = size::<u64>)]
    pub body_rate: u64,
    /// Maximum time for which a client may stop reading a response; beyond it, contrail cuts its connection or HTTP/2
    /// stream
    #[arg(long, help_heading = "Timeouts", value_name = "SECS", default_value = "60", value_parser = seconds)]
    pub write_timeout: Duration,
    /// Maximum idle time of a connection between two requests
    #[arg(long, help_heading = "Timeouts", value_name = "SECS", default_value = "75", value_parser = seconds)]
    pub keep_alive: Duration,
    /// Maximum silence, both ways, of a tunnel or an upgraded connection (101)
    #[arg(long, help_heading = "Timeouts", value_name = "SECS", default_value = "600", value_parser = seconds)]
    pub tunnel_timeout: Duration,
    /// Maximum silence of the upstream, before or within a response; 504 beyond
    #[arg(long, help_heading = "Timeouts", value_name = "SECS", default_value = "60", value_parser = seconds)]
    pub upstream_timeout: Duration,
    /// Maximum time to connect to the upstream; 504 beyond
    #[arg(long, help_heading = "Timeouts", value_name = "SECS", default_value = "10", value_parser = seconds)]
    pub connect_timeout: Duration,
    /// Number of threads that serve connections, at most 64
    #[arg(long, help_heading = "Proxy", value_name = "N", default_value_t = 1, value_parser = workers)]
    pub workers: usize,
    /// Set the audience of every token request [default: replace only an audience that names contrail by the tenant's]
    #[arg(long, help_heading = "Upstream", value_name = "AUDIENCE", conflicts_with = "keep_audience")]
    pub audience: Option<String>,
    /// Leave the audience of token requests unchanged
    #[arg(long, help_heading = "Upstream")]
    pub keep_audience: bool,
    /// Maximum number of idle connections to the upstream that are kept for reuse
    #[arg(long, help_heading = "Limits", value_name = "N", default_value_t = 64, value_parser = whole::<usize>)]
    pub pool: usize,
    /// Maximum number of concurrent HTTP/2 streams per connection
    #[arg(long, help_heading = "Limits", value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..))]
    pub max_streams: u32,
    /// Maximum number of requests in flight to the upstream; a further one waits up to --connect-timeout, then gets 503
    /// [default: --max-connections]
    #[arg(long, help_heading = "Limits", value_name = "N", value_parser = positive)]
    pub max_upstream: Option<usize>,
    /// Time for exchanges in progress to finish after a signal or the command's end
    #[arg(long, help_heading = "Proxy", value_name = "SECS", default_value = "10", value_parser = seconds)]
    pub drain: Duration,
    /// Further variables that the command finds.
    #[arg(skip)]
    pub for_command: Vec<(&'static str, String)>,
    /// Command to run behind the proxy; its exit status takes precedence over contrail's own
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// How exchanges are judged, redacted and shown
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Judging")]
pub struct JudgeArgs {
    /// Which contract.
    #[command(flatten)]
    pub contract: ContractArgs,
    /// Which findings fail.
    #[command(flatten)]
    pub policy: PolicyArgs,
    /// Tolerance for the `exp` and `nbf` of tokens
    #[arg(long, help_heading = "Judging", value_name = "SECS", default_value = "0", value_parser = seconds_or_none)]
    pub clock_skew: Duration,
    /// JSON Web Key Set to check the signatures of tokens
    #[arg(long, help_heading = "Judging", value_name = "FILE")]
    pub jwks: Option<PathBuf>,
    /// Redact this in addition to the built-in plan: `pointer:/a`, `header:NAME`, `regex:…` or `personal`; repeatable
    #[arg(long, help_heading = "Redaction", value_name = "WHAT")]
    pub redact: Vec<String>,
    /// Maximum decoded size of a compressed body; a larger one is not judged
    #[arg(long, help_heading = "Judging", value_name = "BYTES", default_value = "16MiB", value_parser = size::<usize>)]
    pub max_decoded: usize,
    /// Maximum compression ratio after the first 64 KiB; a body beyond it is not judged
    #[arg(long, help_heading = "Judging", value_name = "N", default_value_t = DecodeLimits::default().ratio, value_parser = whole::<usize>)]
    pub max_ratio: usize,
    /// Maximum nesting of JSON that is judged, at most 2000; deeper bodies are unchecked
    #[arg(long, help_heading = "Judging", value_name = "N", default_value_t = json::MAX_DEPTH, value_parser = depth)]
    pub max_depth: usize,
    /// Maximum number of known secrets; beyond it, the least recently seen are evicted, and their later copies are
    /// found only by field, header or format
    #[arg(long, help_heading = "Redaction", value_name = "N", default_value_t = 10_000, value_parser = positive)]
    pub max_secrets: usize,
    /// Format of exchange lines and summary
    #[arg(long, help_heading = "Output", value_enum, default_value_t)]
    pub format: Format,
    /// Print the message of each finding below the line of its exchange
    #[arg(long, help_heading = "Output")]
    pub verbose: bool,
    /// Write a report at the end, as text, json, junit or html, to FILE or standard error; repeatable
    #[arg(long, help_heading = "Output", value_name = "FORMAT[=FILE]")]
    pub report: Vec<report::Request>,
}

/// What a command adds to [`JudgeArgs`] to make a pipeline.
#[derive(Debug, Default)]
pub struct Setup {
    /// What is judged, and the origins that count as the tenant's; the clock skew comes from the options.
    pub options: CheckOptions,
    /// Operations to judge and record; empty for all.
    pub only: Vec<String>,
    /// Paths not to judge or record.
    pub exclude: Vec<String>,
    /// Which messages are held until they are judged.
    pub enforce: Enforce,
    /// Where entries go.
    pub journal: Option<Box<dyn Journal>>,
    /// The ends of responses wait for the disk.
    pub durable: bool,
    /// The contract, where the command has loaded it already.
    pub contract: Option<Arc<Contract>>,
    /// The redactor, where the command has made one already.
    pub redactor: Option<Arc<Redactor>>,
    /// The token cache, where the command has made one already.
    pub tokens: Option<Arc<TokenCache>>,
}

impl JudgeArgs {
    /// The memory of secrets that the options ask for; its labels fit the contract's bounds.
    ///
    /// # Errors
    ///
    /// A `--redact` that cannot be understood.
    pub fn redactor(&self, contract: &Arc<Contract>) -> Result<Arc<Redactor>, Failure> {
        let shapes = Arc::new(ContractShapes::new(Arc::clone(contract)));
        Ok(Arc::new(Redactor::new(Plan::new(&self.redact)?).with_shapes(shapes).with_bound(self.max_secrets)))
    }

    /// The cache of tokens that the options ask for.
    ///
    /// # Errors
    ///
    /// `--jwks` cannot be read.
    pub fn tokens(&self) -> Result<Arc<TokenCache>, Failure> {
        let keys = self.jwks.as_deref().map(Jwks::read).transpose()?.map(Arc::new);
        Ok(Arc::new(TokenCache::new(self.clock_skew, keys)))
    }

    /// Checks the files of the reports before anything is opened; see [`report_files::check`].
    ///
    /// # Errors
    ///
    /// A report would replace a file that the command uses, or cannot be written.
    pub(super) fn check_reports(&self, proxy: &ProxyArgs, mut used: Used) -> Result<(), Failure> {
        used.files("contract", self.contract.contract.iter().chain(&self.contract.overlay));
        used.files("key set", &self.jwks);
        let DoorArgs { cert, key, ca_dir, .. } = &proxy.doors;
        used.files("certificate", cert.iter().chain(key));
        if let Some(folder) = ca_dir {
            used.tree("authority", folder);
        }
        report_files::check(&self.report, &mut used)
    }

    /// An empty collector for the reports that the options ask for.
    #[must_use]
    pub fn collector(&self, title: Title) -> Collector {
        let failing = Rule::ALL.iter().copied().filter(|rule| self.policy.fails_on_rule(*rule)).collect();
        let listed = self.report.iter().any(|request| request.kind == report::Kind::Json);
        Collector::new(title, failing, listed)
    }

    /// Options of the check with this command's tolerance and bounds.
    #[must_use]
    pub fn options(&self, options: CheckOptions) -> CheckOptions {
        CheckOptions { clock_skew: self.clock_skew, max_depth: self.max_depth, ..options }
    }

    /// The pipeline that the options ask for.
    ///
    /// # Errors
    ///
    /// The contract, `--jwks` or a `--redact` cannot be used; an `--only` names no operation.
    pub fn pipeline(&self, setup: Setup) -> Result<Arc<Pipeline>, Failure> {
        let contract = match setup.contract {
            Some(contract) => contract,
            None => self.contract.load()?,
        };
        let known = |only: &String| contract.model().operations.iter().any(|operation| *operation.id == **only);
        if let Some(unknown) = setup.only.iter().find(|only| !known(only)) {
            return Err(format!(
                "--only {unknown}: the contract has no such operation; `contrail contract` lists them"
            )
            .into());
        }
        // The contract may not be compiled yet, and only reports tell its name.
        let title = if self.report.is_empty() { Title::default() } else { super::options::contract::title(&contract) };
        let collector = self.collector(title);
        let redactor = match setup.redactor {
            Some(redactor) => redactor,
            None => self.redactor(&contract)?,
        };
        let tokens = match setup.tokens {
            Some(tokens) => tokens,
            None => self.tokens()?,
        };
        Ok(Pipeline::new(Parts {
            judge: Judge {
                contract,
                checker: Contract::check,
                options: self.options(setup.options),
                tokens,
                decode: DecodeLimits { bytes: self.max_decoded, ratio: self.max_ratio },
                only: setup.only,
                exclude: setup.exclude,
                verdicts: VerdictCache::default(),
            },
            redactor,
            enforce: setup.enforce,
            collector,
            journal: setup.journal,
            durable: setup.durable,
            lines: self.lines(),
            console: Console::new(io::stderr(), self.lines())?,
        })?)
    }

    fn lines(&self) -> LineFormat {
        match self.format {
            Format::Text => {
                LineFormat::Text { colour: wants_colour(io::stderr().is_terminal()), verbose: self.verbose }
            }
            Format::Json => LineFormat::Json,
        }
    }
}

/// Where a proxy may open connections to.
#[derive(Debug, Clone)]
pub enum Reach {
    /// Nowhere: whatever is intercepted is answered from memory.
    Memory,
    /// To the upstream and to intercepted hosts.
    Anywhere {
        /// How they are reached.
        access: Box<live::Access>,
        /// The upstream's own name is looked up here.
        direct: bool,
    },
}

impl Reach {
    /// Whether the upstream's own name is looked up here.
    const fn looks_the_upstream_up(&self) -> bool {
        matches!(self, Self::Anywhere { direct: true, .. })
    }
}

/// Where a proxy stands: the upstream's origin, its own addresses, and how far it reaches.
#[derive(Debug)]
pub(super) struct Site<'a> {
    pub(super) origin: Origin,
    pub(super) own: OwnAddresses,
    pub(super) reach: &'a Reach,
}

/// Listens to what passes unseen.
#[derive(Debug)]
struct Nobody;

impl Observer for Nobody {
    fn on_completed(&self, _: Completed) -> Committed {
        Committed::now()
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ran {
    /// How the wrapped command ended, if there was one.
    pub command: Option<wrap::Ended>,
    /// What the command got to find the listeners by, as in `CONTRAIL_URL=http://127.0.0.1:41234`.
    pub given: Vec<String>,
    /// The lines that say where it listened.
    pub listeners: Vec<String>,
}

impl Ran {
    /// How the wrapped command failed, if it did.
    #[must_use]
    pub fn failure(&self) -> Option<wrap::Ended> {
        self.command.filter(|ended| ended.status != 0)
    }

    /// How the wrapped command came to an end before its work was done: it failed, or contrail was stopped.
    #[must_use]
    pub fn cut_short(&self) -> Option<wrap::Ended> {
        self.command.filter(|ended| ended.status != 0 || ended.interrupted)
    }
}

impl ProxyArgs {
    /// Bounds of a live upstream.
    #[must_use]
    pub fn live_limits(&self) -> live::Limits {
        live::Limits {
            connect: self.connect_timeout,
            silence: self.upstream_timeout,
            kept: self.pool,
            fields: self.max_response_headers,
            ..live::Limits::default()
        }
    }

    fn settings(&self, scheme: &str, authority: &str) -> Settings {
        let max_connections = connections_that_fit(self.max_connections, self.max_upstream, self.pool, self.workers);
        Settings {
            max_body: self.max_body,
            max_capture: self.max_capture,
            max_captured: self.max_captured,
            max_connections,
            max_headers: self.max_headers,
            max_header_bytes: self.max_header_bytes,
            max_target: self.max_target,
            header_timeout: self.header_timeout,
            body_timeout: self.body_timeout,
            body_rate: self.body_rate,
            write_timeout: self.write_timeout,
            keep_alive: self.keep_alive,
            tunnel_timeout: self.tunnel_timeout,
            max_streams: self.max_streams,
            max_upstream: self.max_upstream.unwrap_or(max_connections),
            permit_timeout: self.connect_timeout,
            audience: match &self.audience {
                Some(audience) => Audience::Force(audience.clone()),
                None if self.keep_audience => Audience::Keep,
                None => Audience::Rewrite,
            },
            drain: self.drain,
            ..Settings::new(scheme, authority)
        }
    }

    /// Serves until a signal (or the end of the wrapped command), drains, and returns. `origin` is the upstream's, as in
    /// `https://tenant.example`. `ready` runs once `listening on` was said.
    ///
    /// # Errors
    ///
    /// The port is taken, or the command cannot be run.
    pub fn run(
        &self,
        pipeline: &Arc<Pipeline>,
        upstream: Arc<dyn Upstream>,
        origin: &str,
        reach: &Reach,
        ready: impl FnOnce(),
    ) -> Result<Ran, Failure> {
        self.doors.check()?;
        let origin: Origin = origin.parse()?;
        let own = match reach {
            Reach::Memory => OwnAddresses::without_names(),
            Reach::Anywhere { .. } => OwnAddresses::default(),
        };
        let settings = self.settings(origin.scheme(), &origin.authority);
        let (workers, threads) = Workers::start(self.workers, || {
            let writer = Arc::clone(pipeline);
            async move { writer.run().await }
        })
        .map_err(|error| format!("cannot start {} workers: {error}; --workers takes fewer", self.workers))?;
        let settings = Settings { own: own.clone(), workers, ..settings };
        let routes = |first, access| {
            let access = live::Access { own: own.clone(), ..access };
            Arc::new(Routes::new(first, access, self.live_limits()))
        };
        let upstream: Arc<dyn Upstream> = match reach {
            Reach::Anywhere { access, .. } if !self.doors.intercept.is_empty() => {
                routes(Some((origin.clone(), upstream)), (**access).clone())
            }
            _ => upstream,
        };
        let proxy = Proxy::new(settings.clone(), upstream, Arc::clone(pipeline) as _)?;
        let unseen = Proxy::new(settings, routes(None, live::Access::default()), Arc::new(Nobody))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let site = Site { origin, own, reach };
        let ran = runtime.block_on(self.serve(pipeline, proxy, unseen, &site, ready));
        // Exchanges that the drain did not see to their end are recorded as they are dropped.
        drop((runtime, threads));
        pipeline.flush();
        ran
    }

    async fn serve(
        &self,
        pipeline: &Arc<Pipeline>,
        proxy: Arc<Proxy>,
        unseen: Arc<Proxy>,
        site: &Site<'_>,
        ready: impl FnOnce(),
    ) -> Result<Ran, Failure> {
        let mut signals = Signals::new()?;
        let around_command = !self.command.is_empty();
        let mut doors = self.doors.open(site, unseen, self.connect_timeout, around_command).await?;
        let Site { origin, own, reach } = site;
        if own.names(&origin.host, origin.port)
            || reach.looks_the_upstream_up()
                && matches!(own.resolve(&origin.host, origin.port).await, Err(Resolved::Own))
        {
            return Err(format!("the upstream {origin} is contrail itself; name the tenant with --upstream").into());
        }
        let mut environment =
            around_command.then(|| Environment::new(&doors, |name| std::env::var_os(name))).transpose()?;
        if let Some(environment) = &mut environment {
            environment.variables.extend(self.for_command.iter().map(|(name, value)| (*name, value.into())));
        }
        let writer = Arc::clone(pipeline);
        let writer = tokio::spawn(async move { writer.run().await });
        let (stop, stopping) = watch::channel(false);
        let lines = doors.lines();
        let mut servers = JoinSet::new();
        for Open { listener, door, .. } in doors.open.drain(..) {
            servers.spawn(listener::serve(Arc::clone(&proxy), listener, door, stopping.clone()));
        }
        let format = if pipeline.lines() == LineFormat::Json { Format::Json } else { Format::Text };
        for line in &lines {
            let address = line.strip_prefix("listening on ").and_then(|rest| rest.split(' ').next());
            super::summary::event(format, "listening", address, line);
        }
        // The first exchange finds the schemas compiled, or waits for them.
        let contract = Arc::clone(pipeline.contract());
        std::thread::spawn(move || contract.prepare());
        ready();
        let ended = match self.command.split_first() {
            None => {
                signals.next().await;
                Ok(None)
            }
            Some((program, arguments)) => {
                wrap::run(program, arguments, environment.as_ref(), &mut signals).await.map(Some)
            }
        };
        let _ = stop.send(true);
        tokio::select! {
            () = async { while servers.join_next().await.is_some() {} } => {}
            // Who asks twice does not want to wait for the drain.
            _ = signals.next() => {
                proxy.cutting("contrail stopped before the exchange was over: a second signal came");
                servers.abort_all();
            }
        }
        writer.abort();
        let given = environment.as_ref().map_or_else(Vec::new, Environment::addresses);
        Ok(Ran { command: ended?, given, listeners: lines })
    }
}

/// The signals that end a run.
#[derive(Debug)]
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// The next one that comes.
    pub(super) async fn next(&mut self) -> nix::sys::signal::Signal {
        tokio::select! {
            _ = self.interrupt.recv() => nix::sys::signal::Signal::SIGINT,
            _ = self.terminate.recv() => nix::sys::signal::Signal::SIGTERM,
            _ = self.hangup.recv() => nix::sys::signal::Signal::SIGHUP,
        }
    }
}
