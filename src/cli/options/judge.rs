//! How exchanges are judged, redacted and shown.

use std::{
    io::{self, IsTerminal as _},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use contrail_contract::{CheckOptions, Contract};
use contrail_exchange::{
    DecodeLimits,
    finding::Rule,
    json,
    token::{Jwks, TokenCache},
};
use contrail_pipeline::{
    Console, ContractShapes, Enforce, Journal, Judge, LineFormat, Parts, Pipeline, Tracer, VerdictCache, Viewer,
};
use contrail_proxy::metrics::Metrics;
use contrail_redact::Redactor;
use contrail_report::{self as report, Collector, Title, coverage::ContractParts};

use super::{
    ContractArgs, Format, SecretArgs,
    contract::{plan, title},
    limits::ProxyArgs,
    listen::ListenerArgs,
    policy::PolicyArgs,
    values::{depth, seconds_or_none, size, whole},
};
use crate::cli::{
    Failure,
    printer::stderr_in_colour,
    report_files::{self, Used},
};

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
    /// Maximum size of the bodies of an exchange that are judged on the thread which serves its connection; larger ones
    /// are judged on another
    #[arg(long, help_heading = "Judging", value_name = "BYTES", default_value = "256KiB", value_parser = size::<usize>)]
    pub max_inline: usize,
    /// How many secrets are remembered.
    #[command(flatten)]
    pub secrets: SecretArgs,
    /// Format of exchange lines and summary
    #[arg(long, help_heading = "Output", value_enum, default_value_t)]
    pub format: Format,
    /// Print the message of each finding, and the tenant's words on an error, below the line of the exchange
    #[arg(long, help_heading = "Output")]
    pub verbose: bool,
    /// Print lines only of exchanges with findings, misses or faults
    #[arg(long, help_heading = "Output")]
    pub quiet: bool,
    /// Write a report at the end, as text, json, html, markdown, junit, sarif, github or csv, to FILE or standard
    /// error; repeatable
    #[arg(long, help_heading = "Output", value_name = "FORMAT[=FILE]")]
    pub report: Vec<report::Request>,
}

/// Checks that a contract has the operations that an option names.
pub(in crate::cli) fn known_operations<'a>(
    contract: &Contract,
    option: &str,
    named: impl IntoIterator<Item = &'a String>,
) -> Result<(), Failure> {
    let known = |name: &&String| contract.operations().any(|operation| *operation.id == ***name);
    match named.into_iter().find(|name| !known(name)) {
        None => Ok(()),
        Some(name) => {
            Err(format!("{option} {name}: the contract has no such operation; `contrail contract` lists them").into())
        }
    }
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
    /// Where exchanges are counted for `--metrics` and `--otlp`, if they are.
    pub metrics: Option<Arc<Metrics>>,
    /// Takes exchanges for `--otlp`.
    pub tracer: Option<Arc<dyn Tracer>>,
    /// Takes exchanges for the live page.
    pub viewer: Option<Arc<dyn Viewer>>,
}

impl JudgeArgs {
    /// The memory of secrets that the options ask for; its labels fit the contract's bounds.
    ///
    /// # Errors
    ///
    /// A `--redact` that cannot be understood.
    pub fn redactor(&self, contract: &Arc<Contract>) -> Result<Arc<Redactor>, Failure> {
        let shapes = Arc::new(ContractShapes::new(Arc::clone(contract)));
        Ok(Arc::new(
            Redactor::new(plan(contract, &self.redact)?).with_shapes(shapes).with_bound(self.secrets.max_secrets),
        ))
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
    pub(in crate::cli) fn check_reports(&self, proxy: &ProxyArgs, mut used: Used) -> Result<(), Failure> {
        used.contract(&self.contract);
        used.files("key set", &self.jwks);
        used.files("baseline", &self.policy.baseline);
        let ListenerArgs { cert, key, ca_dir, .. } = &proxy.listeners;
        used.files("certificate", cert.iter().chain(key));
        if let Some(folder) = ca_dir {
            used.tree("authority", folder);
        }
        if let Some(file) = &proxy.listeners.env_file {
            used.spare("--env-file", file)?;
            used.file("environment", file);
        }
        report_files::check(&self.report, &mut used)
    }

    /// An empty collector for the reports that the options ask for.
    ///
    /// # Errors
    ///
    /// `--baseline` cannot be read.
    fn collector(&self, contract: &Arc<Contract>) -> Result<Collector, Failure> {
        let failing = Rule::ALL.iter().copied().filter(|rule| self.policy.fails_on_rule(*rule)).collect();
        // The contract may not be compiled yet, and only reports show its name.
        let title = if self.report.is_empty() { Title::default() } else { title(contract) };
        let listed = self.report.iter().any(|request| request.kind == report::ReportFormat::Json);
        let mut collector = Collector::new(title, failing, listed).with_contract(Arc::clone(contract));
        // To look for them costs time per exchange, and only reports show them.
        if !self.report.is_empty() {
            collector = collector.with_parts(ContractParts::of(contract));
        }
        Ok(collector.with_exemptions(self.policy.exemptions()?))
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
        known_operations(&contract, "--only", &setup.only)?;
        let collector = self.collector(&contract)?;
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
            max_inline: self.max_inline,
            lines: self.lines(),
            quiet: self.quiet,
            console: Console::new(io::stderr(), self.lines())?,
            metrics: setup.metrics,
            tracer: setup.tracer,
            viewer: setup.viewer,
        })?)
    }

    fn lines(&self) -> LineFormat {
        match self.format {
            Format::Text => {
                let clock = io::stderr().is_terminal();
                LineFormat::Text { colour: stderr_in_colour(), verbose: self.verbose, clock }
            }
            Format::Json => LineFormat::Json,
        }
    }
}
