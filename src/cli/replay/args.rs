//! The options of `contrail replay`.

use std::path::PathBuf;

use contrail_fleet::RemoteUrl;
use contrail_proxy::entry::forward::Tunnel;
use contrail_replay::{Exhausted, Fault, Latency};

use crate::cli::{
    messages::{lacking, quoted},
    options::{
        Network, judge::JudgeArgs, limits::ProxyArgs, matching::MatchArgs, sessions::SessionArgs,
        upstream::UpstreamArgs, values::days,
    },
};

use crate::config::Sources;

/// Serve recordings without any network access
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Fixtures, journals, HAR files of any tool, or folders of them, served in this order
    #[arg(value_name = "FIXTURE", required_unless_present = "sessions")]
    pub(in crate::cli) fixtures: Vec<PathBuf>,
    /// Response to a request that repeats more often than recorded [default: safe methods repeat the last response,
    /// others miss]
    #[arg(long, value_enum)]
    pub(super) exhausted: Option<Exhausted>,
    #[command(flatten)]
    pub(super) matching: MatchArgs,
    /// How long recorded answers take: `recorded`, a multiple such as `0.5x`, a time such as `250ms`, or `none`, which also
    /// takes waits out of Retry-After and rate-limit resets [default: no time]
    #[arg(long, value_name = "recorded|Nx|Nms|none")]
    pub(super) latency: Option<Latency>,
    /// Fail on purpose, to test clients: a status from 400 to 599, `reset`, `timeout` or `slow-body`, optionally after
    /// `OPERATION=` or `METHOD /path/*=`, and before `:nth=N`, `:every=N` or `:rate=0.1`; repeatable
    #[arg(long, value_name = "[SCOPE=]FAULT[:WHEN]")]
    pub(super) fault: Vec<Fault>,
    /// Write which recorded exchanges no request used to FILE, for `contrail unused`
    #[arg(long, value_name = "FILE")]
    pub(super) used: Option<PathBuf>,
    /// Warn of recordings older than this; `--deny age` fails
    #[arg(long, value_name = "DAYS", value_parser = days)]
    pub(super) max_age: Option<u32>,
    /// Judge authentication too [default: unchecked, since CI has no real token]
    #[arg(long)]
    pub(super) check_auth: bool,
    /// Let CMD reach this host without contrail, as an entry of `NO_PROXY` [default: this machine only]; repeatable
    #[arg(long, value_name = "HOST")]
    pub(super) direct: Vec<String>,
    /// Run contrail and CMD without any network but loopback, in a namespace of Linux: a request that passes around
    /// contrail fails
    #[arg(long)]
    pub(in crate::cli) no_network: bool,
    #[command(flatten)]
    pub(super) sessions: SessionArgs,
    #[command(flatten)]
    pub(super) missing: MissingArgs,
    #[command(flatten)]
    pub(in crate::cli) judge: JudgeArgs,
    #[command(flatten)]
    pub(in crate::cli) proxy: ProxyArgs,
}

/// What becomes of requests that were not recorded
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Recording what is missing")]
#[command(mut_arg("upstream", |arg| arg.required(false)))] // only here may a proxy do without one
pub(super) struct MissingArgs {
    /// Forward requests that FIXTURE lacks, and token requests, to --upstream and record them; only this option and
    /// --otlp reach the network
    #[arg(long)]
    pub(super) record_missing: bool,
    /// Allow `--record-missing` in CI (`CI` is set, and neither `0` nor `false`)
    #[arg(long)]
    pub(super) force: bool,
    /// Who answers what was not recorded.
    #[command(flatten)]
    pub(super) upstream: UpstreamArgs,
}

impl Args {
    /// Where its rules come from.
    pub(in crate::cli) fn set_typed(&mut self, sources: &Sources) {
        self.matching.typed = sources.is_flag("ignore") || sources.is_flag("echo");
    }

    /// How it listens, and who answers what was not recorded.
    pub(in crate::cli) fn network(&self) -> Network<'_> {
        Network {
            proxy: &self.proxy,
            upstream: &self.missing.upstream,
            contract: None,
            trail: None,
            sessions: Some(&self.sessions),
        }
    }

    /// A command that stands among the recordings, because `--` is missing.
    fn lacks_dashes(&self) -> Option<String> {
        let is_missing = |path: &PathBuf| !path.exists() && !RemoteUrl::is_meant(path.as_os_str());
        let at = self.fixtures.iter().skip(1).position(is_missing)? + 1;
        if !self.proxy.command.is_empty() || is_missing(&self.fixtures[0]) {
            return None;
        }
        let words = |paths: &[PathBuf]| paths.iter().map(|path| quoted(path)).collect::<Vec<_>>().join(" ");
        let (recordings, command) = self.fixtures.split_at(at);
        Some(format!(
            "there is no recording `{}`; if it is a command to run, put `--` before it: `contrail replay {} -- {}`",
            command[0].display(),
            words(recordings),
            words(command)
        ))
    }

    /// What is wrong with an option that lacks another one, or that was `typed` and would break what replay promises.
    pub(in crate::cli) fn misplaced(&self, typed: &dyn Fn(&str) -> bool) -> Option<String> {
        if let Some(wrong) = self.lacks_dashes() {
            return Some(wrong);
        }
        if self.missing.record_missing && self.missing.upstream.upstream.is_empty() {
            return Some(lacking("record-missing", "--upstream URL"));
        }
        if self.missing.record_missing && self.sessions.sessions.is_some() {
            let wrong = "--record-missing adds to one fixture, and --sessions names many; record what a session lacks \
                         with `contrail record --sessions DIR --append`";
            return Some(wrong.into());
        }
        if typed("direct") && self.proxy.command.is_empty() && self.proxy.listeners.env_file.is_none() {
            return Some(lacking("direct", "-- CMD or --env-file FILE"));
        }
        if self.used.is_some() && self.missing.record_missing {
            let wrong =
                "--used is about recordings that stay as they are, and --record-missing adds to one; leave one out";
            return Some(wrong.into());
        }
        if self.max_age.is_none() && typed("deny") && self.judge.policy.denies_age() {
            return Some(lacking("deny age", "--max-age DAYS"));
        }
        if self.no_network
            && let Some(wrong) = self.needs_network()
        {
            return Some(wrong);
        }
        let tunnels = typed("tunnel") && self.proxy.listeners.tunnel == Tunnel::Allow && !self.missing.record_missing;
        tunnels.then(|| {
            "--tunnel allow would reach the network, and replay opens no socket to anywhere; leave it out (with --allow \
             denied, requests to other hosts do not fail the run)"
                .into()
        })
    }
    /// What does not work without a network, if something is asked for.
    fn needs_network(&self) -> Option<String> {
        if self.proxy.command.is_empty() {
            return Some(lacking("no-network", "-- CMD"));
        }
        let options = [
            ("--record-missing", self.missing.record_missing),
            ("--direct", !self.direct.is_empty()),
            ("--inspect", self.proxy.inspect.inspect.is_some()),
            ("--metrics", self.proxy.listeners.metrics.is_some()),
            ("--otlp", self.proxy.telemetry.otlp.is_some()),
            ("--env-file", self.proxy.listeners.env_file.is_some()),
        ];
        let (option, _) = options.into_iter().find(|(_, given)| *given)?;
        Some(format!("{option} needs the network that --no-network takes away; leave one of them out"))
    }
}
