//! Groups of options that several commands share.

pub mod common;
pub mod contract;
pub mod inspect;
pub mod judge;
pub mod keep;
pub mod limits;
pub mod listen;
pub mod matching;
pub mod policy;
mod selection;
pub mod sessions;
pub mod telemetry;
pub mod trail;
pub mod upstream;
pub(super) mod values;

use std::sync::Arc;

use contrail_contract::{CheckOptions, Contract};
use contrail_pipeline::Enforce;
use contrail_redact::Redactor;
use contrail_report::Request;

pub use self::{contract::ContractArgs, selection::SelectionArgs};
use self::{
    contract::plan, judge::Setup, limits::ProxyArgs, sessions::SessionArgs, trail::TrailArgs, upstream::UpstreamArgs,
    values::positive,
};
use crate::cli::Failure;

/// The format of a command's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Format {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
}

/// Output and reports of a command that only reads recordings.
#[derive(Debug, clap::Args)]
pub struct OutputArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Write a report as text, json, html, markdown, junit, sarif, github or csv to FILE, or to standard output
    /// instead of the usual output; repeatable
    #[arg(long, value_name = "FORMAT[=FILE]")]
    pub report: Vec<Request>,
}

/// How many secrets are remembered
#[derive(Debug, Clone, clap::Args)]
pub struct SecretArgs {
    /// Maximum number of known secrets; beyond it, the least recently seen are evicted, and their later copies are
    /// found only by field, header or format
    #[arg(long, help_heading = "Redaction", value_name = "N", default_value_t = 10_000, value_parser = positive::<usize>)]
    pub max_secrets: usize,
}

impl SecretArgs {
    /// The redactor of a command that reads recordings.
    ///
    /// # Errors
    ///
    /// As [`plan`], without a rule.
    pub fn redactor(&self, contract: &Arc<Contract>) -> Result<Redactor, Failure> {
        Ok(Redactor::new(plan(contract, &[])?).with_bound(self.max_secrets))
    }
}

/// The options of a proxy that may need each other.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) struct Network<'a> {
    pub(in crate::cli) proxy: &'a ProxyArgs,
    pub(in crate::cli) upstream: &'a UpstreamArgs,
    /// In `replay` the fixture names the upstreams.
    pub(in crate::cli) contract: Option<&'a ContractArgs>,
    pub(in crate::cli) trail: Option<&'a TrailArgs>,
    pub(in crate::cli) sessions: Option<&'a SessionArgs>,
}

impl Network<'_> {
    /// What is wrong with an option that was `typed` and lacks another one, if one was.
    pub(in crate::cli) fn lacking(self, typed: &dyn Fn(&str) -> bool) -> Option<String> {
        let around_command = !self.proxy.command.is_empty();
        let listeners = self.proxy.listeners.misplaced(around_command, typed);
        listeners
            .or_else(|| self.upstream.lacking(typed))
            .or_else(|| self.upstream.nobodys("contract", &self.contract?.contract))
            .or_else(|| self.trail.and_then(|trail| trail.lacking(typed)))
            .or_else(|| self.proxy.telemetry.lacking(typed))
            .or_else(|| self.sessions.and_then(|sessions| sessions.misplaced(typed)))
    }
}

/// Which exchanges count, and which may pass
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Selection")]
pub struct FilterArgs {
    /// Judge and record only this operation; other requests are still forwarded; repeatable
    #[arg(long, value_name = "OPERATION")]
    pub only: Vec<String>,
    /// Neither judge nor record requests with this path, as sent; a trailing `*` matches any suffix; repeatable
    #[arg(long, value_name = "PATH", value_parser = values::excluded)]
    pub exclude: Vec<String>,
    /// Hold messages until they are judged, and replace those that violate the contract with errors
    #[arg(long, value_enum)]
    pub enforce: Option<Enforce>,
    /// Give clients of the reverse listener links to it in place of links to the upstream: in Location, Link and
    /// Content-Location, and where a JSON string begins with the upstream's origin. Recorded is what the upstream sent
    #[arg(long, help_heading = "Upstream")]
    pub rewrite_links: bool,
}

impl FilterArgs {
    /// What is wrong with options that exclude each other, if two do.
    pub(in crate::cli) fn conflict(&self) -> Option<String> {
        let holds = matches!(self.enforce, Some(Enforce::Responses | Enforce::All));
        (self.rewrite_links && holds).then(|| {
            "--rewrite-links changes no answer that --enforce responses|all holds back; leave one of them out"
                .to_owned()
        })
    }

    pub(in crate::cli) fn setup(&self, tenant_origins: Vec<String>) -> Setup {
        Setup {
            options: CheckOptions { tenant_origins, ..CheckOptions::default() },
            only: self.only.clone(),
            exclude: self.exclude.clone(),
            enforce: self.enforce.unwrap_or_default(),
            ..Setup::default()
        }
    }
}
