//! The options of `contrail replay`.

use std::path::PathBuf;

use contrail_proxy::entry::forward::Tunnel;
use contrail_recording::Ignore;
use contrail_replay::Exhausted;

use crate::cli::{
    messages::lacking,
    options::{Network, judge::JudgeArgs, limits::ProxyArgs, upstream::UpstreamArgs},
};

/// Serve recordings without any network access
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Fixtures, journals, HAR files of any tool, or folders of them, served in this order
    #[arg(value_name = "FIXTURE", required = true)]
    pub(in crate::cli) fixtures: Vec<PathBuf>,
    /// Response to a request that repeats more often than recorded [default: safe methods repeat the last response,
    /// others miss]
    #[arg(long, value_enum)]
    pub(super) exhausted: Option<Exhausted>,
    /// Ignore this part of requests in the comparison: `query:NAME`, `pointer:/a/b` (`*` for any one member or item),
    /// `path:N` (N-th segment, from 1), `header:NAME` or `body`, optionally after `OPERATION=` or `METHOD /path/*=`;
    /// repeatable
    #[arg(long, value_name = "[SCOPE=]WHAT")]
    pub(super) ignore: Vec<Ignore>,
    /// Judge authentication too [default: unchecked, since CI has no real token]
    #[arg(long)]
    pub(super) check_auth: bool,
    /// Let CMD reach this host without contrail, as an entry of `NO_PROXY` [default: this machine only]; repeatable
    #[arg(long, value_name = "HOST")]
    pub(super) direct: Vec<String>,
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
    /// How it listens, and who answers what was not recorded.
    pub(in crate::cli) fn network(&self) -> Network<'_> {
        Network { proxy: &self.proxy, upstream: &self.missing.upstream, trail: None }
    }

    /// What is wrong with an option that lacks another one, or that was `typed` and would break what replay promises.
    pub(in crate::cli) fn misplaced(&self, typed: &dyn Fn(&str) -> bool) -> Option<String> {
        if self.missing.record_missing && self.missing.upstream.upstream.is_none() {
            return Some(lacking("record-missing", "--upstream URL"));
        }
        if typed("direct") && self.proxy.command.is_empty() {
            return Some(lacking("direct", "-- CMD"));
        }
        let tunnels = typed("tunnel") && self.proxy.listeners.tunnel == Tunnel::Allow && !self.missing.record_missing;
        tunnels.then(|| {
            "--tunnel allow would reach the network, and replay opens no socket to anywhere; leave it out (with --allow \
             denied, requests to other hosts do not fail the run)"
                .into()
        })
    }
}
