//! `--enforce`: messages that violate the contract do not pass.

use contrail_exchange::finding::{Finding, Kind, Verdict};
use contrail_proxy::{HoldPolicy, upstream::Problem};
use contrail_redact::{JudgedExchange, Redacted};
use contrail_report::WrittenFinding;
use http::StatusCode;
use serde_json::json;

/// Which messages are held until they have been judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Enforce {
    /// None.
    #[default]
    #[value(skip)]
    Nothing,
    /// Answer a request that violates the contract with 400; it does not reach the tenant
    Requests,
    /// Replace a response that violates the contract with 502, or with 424 for unsafe methods
    Responses,
    /// Both
    All,
}

impl Enforce {
    pub(super) fn holds(self) -> HoldPolicy {
        HoldPolicy {
            requests: matches!(self, Self::Requests | Self::All),
            responses: matches!(self, Self::Responses | Self::All),
            heads: false,
        }
    }
}

/// The message that is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeldMessage {
    Request,
    Response,
}

impl HeldMessage {
    /// The status of what stands in for it.
    fn status(self) -> StatusCode {
        match self {
            Self::Request => StatusCode::BAD_REQUEST,
            Self::Response => StatusCode::BAD_GATEWAY,
        }
    }
}

/// Whether a judged message passes.
pub(super) fn passes(verdict: &Verdict, held: HeldMessage) -> bool {
    blocking(verdict, held).next().is_none()
}

/// The findings that hold a message back. For a response, those about the request do not count: that one has passed.
fn blocking(verdict: &Verdict, held: HeldMessage) -> impl Iterator<Item = &Finding> {
    verdict.findings.iter().filter(move |finding| {
        finding.rule.kind() == Kind::Violation && (held == HeldMessage::Request || is_about_response(finding.rule.id()))
    })
}

/// What the client gets for a message that does not pass.
pub(super) fn refusal(judged: &Redacted<JudgedExchange>, held: HeldMessage) -> Problem {
    let blocking: Vec<_> = blocking(&judged.verdict, held).collect();
    // Redaction changes what a finding says, and drops none.
    let Some(first) = blocking.first() else { return unjudged(held) };
    let who = if held == HeldMessage::Request { "the request" } else { "the tenant's response" };
    let at = if first.at.is_empty() { String::new() } else { format!(" at {}", first.at) };
    let detail = format!("{who} violates the contract: {}{at}: {}", first.rule, first.message());
    let findings: Vec<WrittenFinding<'_>> = blocking.into_iter().map(WrittenFinding::from).collect();
    Problem::new(held.status(), "enforce", detail).with("findings", json!(findings))
}

/// A message that could not be judged, which `--enforce` never lets through.
pub(super) fn unjudged(held: HeldMessage) -> Problem {
    let detail = "the check failed on this message, and --enforce lets nothing through unjudged; please report it";
    Problem::new(held.status(), "enforce", detail)
}

/// What the tenant did, as opposed to what the client sent.
fn is_about_response(rule: &str) -> bool {
    ["response.", "status.", "exchange.", "transport."].iter().any(|family| rule.starts_with(family))
        || matches!(rule, "auth.unenforced" | "auth.refused")
}
