//! contrail's own member of an entry (`_contrail`), as bytes.

use std::sync::Arc;

use contrail_exchange::{
    Body, ByToken, Credential, Exchange, Presence, SignatureCheck, TokenFacts, TokenTime,
    finding::{Finding, UncheckedSet, Verdict},
    json::write::{comma, number, raw, string, strings},
};

use crate::{Attested, LaidOut, VERSION};

/// What is the same in many entries of a journal.
#[derive(Debug, Clone)]
pub struct JournalContext {
    /// The upstream's origin (`https://tenant.example.com`).
    pub upstream: Arc<str>,
    /// Hash of the contract that judged.
    pub contract: Arc<str>,
}

/// Where a body's text stands.
#[derive(Debug, Clone, Copy)]
pub(crate) enum BodyLocation<'a> {
    /// In the entry.
    Inline,
    /// In a file beside the HAR file.
    File {
        name: &'a str,
        /// Of the file's bytes, hexadecimal.
        sha256: &'a str,
    },
}

/// What an entry states about its run.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Style<'a> {
    /// Everything.
    Journal {
        context: &'a JournalContext,
        /// The recorded facts of the token, where they are known already.
        token: Option<&'a [u8]>,
    },
    /// Nothing: times are constants, a token's instants and the verdict's words are left out.
    Fixture {
        /// Where the request's body stands.
        request: BodyLocation<'a>,
        /// Where the response's body stands.
        response: BodyLocation<'a>,
        /// Which of them are laid out there.
        laid_out: LaidOut,
        /// The label of the token, where the file's head holds its facts.
        token: Option<&'a str>,
    },
}

/// What a journal's entries state about their tokens, as text.
#[derive(Debug, Default)]
pub(crate) struct Tokens(ByToken<Vec<u8>>);

impl Tokens {
    /// Maximum bytes of a text that is held.
    const MAX_LENGTH: usize = 4096;

    /// The recorded facts of a token; `None` for any other credential, and where it is too long to be held.
    pub(crate) fn of(&mut self, credential: &Credential) -> Option<&[u8]> {
        let Credential::Token(facts) = credential else { return None };
        let text = self.0.get_or_put(facts, || {
            let mut text = Vec::new();
            token(facts, true, &mut text);
            // An empty text stands for one that is too long.
            if text.len() <= Self::MAX_LENGTH { text } else { Vec::new() }
        });
        (!text.is_empty()).then_some(text)
    }
}

/// Appends the member, with a comma before it.
pub(super) fn note(
    exchange: &Exchange,
    verdict: &Verdict,
    attested: Option<&Attested>,
    style: Style<'_>,
    out: &mut Vec<u8>,
) {
    raw(out, ",\"_contrail\":{");
    let run = matches!(style, Style::Journal { .. });
    if run {
        raw(out, "\"version\":");
        number(u64::from(VERSION), out);
        out.push(b',');
    }
    raw(out, "\"operation\":");
    match &verdict.operation {
        Some(operation) => string(operation, out),
        None => raw(out, "null"),
    }
    if let Style::Journal { context, .. } = style {
        raw(out, ",\"verdict\":\"");
        raw(out, verdict.conclusion().name());
        if let Some(blame) = verdict.blame {
            raw(out, "\",\"blame\":\"");
            raw(out, blame.name());
        }
        raw(out, "\",\"findings\":");
        findings(&verdict.findings, true, out);
        raw(out, ",\"unchecked\":");
        unchecked(verdict.unchecked, out);
        raw(out, ",\"contract\":");
        string(&context.contract, out);
        raw(out, ",\"upstream\":");
        string(&context.upstream, out);
    }
    if let Some(attested) = attested {
        self::attested(attested, out);
    }
    match style {
        Style::Journal { token: Some(token), .. } => out.extend_from_slice(token),
        Style::Fixture { token: Some(label), .. } => {
            raw(out, ",\"token\":");
            string(label, out);
        }
        _ => credential(&exchange.request.credential, run, out),
    }
    let transport = &exchange.transport;
    if transport.retried && run {
        raw(out, ",\"retried\":true");
    }
    let audience = transport.original_audience.as_deref().filter(|_| run);
    for (member, value) in [
        (",\"originalAudience\":", audience),
        (",\"answered\":", if run { transport.answered() } else { transport.answered_by_contrail.as_deref() }),
        (",\"incomplete\":", transport.incomplete.as_deref()),
    ] {
        if let Some(value) = value {
            raw(out, member);
            string(value, out);
        }
    }
    if let Some(given) = transport.given.filter(|_| run) {
        raw(out, ",\"given\":");
        number(u64::from(given), out);
    }
    if transport.client_left {
        raw(out, ",\"clientLeft\":true");
    }
    if transport.trailers {
        raw(out, ",\"trailers\":true");
    }
    if let Style::Fixture { request, response, laid_out, .. } = style {
        match (laid_out.request, laid_out.response) {
            (false, false) => {}
            (true, false) => raw(out, ",\"laidOut\":[\"request\"]"),
            (false, true) => raw(out, ",\"laidOut\":[\"response\"]"),
            (true, true) => raw(out, ",\"laidOut\":[\"request\",\"response\"]"),
        }
        digests(request, response, out);
    }
    body(",\"request\":{", &exchange.request.body, out);
    if let Some(response) = &exchange.response {
        body(",\"response\":{", &response.body, out);
    }
    out.push(b'}');
}

/// The digests of the body files.
fn digests(request: BodyLocation<'_>, response: BodyLocation<'_>, out: &mut Vec<u8>) {
    let mut first = true;
    for (member, place) in [("\"request\":\"", request), ("\"response\":\"", response)] {
        let BodyLocation::File { sha256, .. } = place else { continue };
        raw(out, if std::mem::take(&mut first) { ",\"sha256\":{" } else { "," });
        raw(out, member);
        raw(out, sha256);
        out.push(b'"');
    }
    if !first {
        out.push(b'}');
    }
}

/// What is known of a body beside its text; nothing where it is whole and nothing in it was replaced.
fn body(member: &str, body: &Body, out: &mut Vec<u8>) {
    if body.is_whole() && !body.malformed && !body.coded && body.redacted.is_empty() {
        return;
    }
    raw(out, member);
    let mut first = true;
    // The name of a member with the comma before it, which the first one leaves out.
    let mut member = |name: &str, out: &mut Vec<u8>| raw(out, &name[usize::from(std::mem::take(&mut first))..]);
    match &body.presence {
        Presence::Whole => {}
        Presence::Truncated { kept, total } => {
            member(",\"truncated\":{\"kept\":", out);
            number(*kept, out);
            if let Some(total) = total {
                raw(out, ",\"total\":");
                number(*total, out);
            }
            out.push(b'}');
        }
        Presence::Withheld(reason) => {
            member(",\"withheld\":", out);
            string(reason.name(), out);
        }
    }
    if body.malformed {
        member(",\"malformed\":true", out);
    }
    if body.coded {
        member(",\"coded\":true", out);
    }
    if !body.redacted.is_empty() {
        member(",\"redacted\":", out);
        strings(body.redacted.iter().map(String::as_str), out);
    }
    out.push(b'}');
}

fn findings(findings: &[Finding], message: bool, out: &mut Vec<u8>) {
    out.push(b'[');
    let mut first = true;
    for finding in findings {
        comma(&mut first, out);
        raw(out, "{\"rule\":\"");
        raw(out, finding.rule.id());
        raw(out, "\",\"kind\":\"");
        raw(out, finding.kind().name());
        raw(out, "\",\"at\":");
        string(&finding.at, out);
        if message {
            raw(out, ",\"message\":");
            string(&finding.message(), out);
        }
        raw(out, ",\"expected\":");
        string(&finding.expected, out);
        if let Some(seen) = &finding.seen {
            raw(out, ",\"seen\":");
            string(seen, out);
        }
        out.push(b'}');
    }
    out.push(b']');
}

fn unchecked(set: UncheckedSet, out: &mut Vec<u8>) {
    strings(set.iter().map(contrail_exchange::finding::Unchecked::name), out);
}

fn attested(attested: &Attested, out: &mut Vec<u8>) {
    raw(out, ",\"attested\":{\"contract\":");
    string(&attested.contract, out);
    raw(out, ",\"findings\":");
    findings(&attested.findings, false, out);
    raw(out, ",\"indexes\":[");
    let mut first = true;
    for index in &attested.indexes {
        comma(&mut first, out);
        number(*index as u64, out);
    }
    raw(out, "],\"cleared\":");
    findings(&attested.cleared, false, out);
    if let Some(set) = attested.unchecked {
        raw(out, ",\"unchecked\":");
        unchecked(set, out);
    }
    if let Some(blame) = attested.blame {
        raw(out, ",\"blame\":\"");
        raw(out, blame.name());
        raw(out, "\"");
    }
    out.push(b'}');
}

fn credential(credential: &Credential, instants: bool, out: &mut Vec<u8>) {
    match credential {
        Credential::Missing => {}
        Credential::Token(facts) => token(facts, instants, out),
        Credential::OtherScheme { scheme, user } => {
            raw(out, ",\"token\":{\"scheme\":");
            string(scheme, out);
            if let Some(user) = user {
                raw(out, ",\"user\":");
                string(user, out);
            }
            out.push(b'}');
        }
        Credential::Malformed(reason) => {
            raw(out, ",\"token\":{\"malformed\":");
            string(reason, out);
            out.push(b'}');
        }
        Credential::Encrypted => raw(out, ",\"token\":{\"encrypted\":true}"),
        Credential::Unknown => raw(out, ",\"token\":{\"unknown\":true}"),
    }
}

fn token(facts: &TokenFacts, instants: bool, out: &mut Vec<u8>) {
    raw(out, ",\"token\":");
    self::facts(facts, instants, out);
}

/// Appends a token's public facts, as an object.
pub(crate) fn facts(facts: &TokenFacts, instants: bool, out: &mut Vec<u8>) {
    let TokenFacts {
        client,
        user,
        scopes,
        issuer,
        audience,
        issued_at,
        not_before,
        expires_at,
        lifetime,
        time,
        signature,
        unknown_key: _,
    } = facts;
    out.push(b'{');
    let mut first = true;
    // The name of a member with the comma before it, which the first one leaves out.
    let mut member = |name: &str, out: &mut Vec<u8>| {
        raw(out, &name[usize::from(std::mem::take(&mut first))..]);
    };
    if let Some(client) = client {
        member(",\"client\":", out);
        string(client, out);
    }
    if let Some(user) = user {
        member(",\"user\":", out);
        string(user, out);
    }
    if let Some(scopes) = scopes {
        member(",\"scopes\":", out);
        strings(scopes.iter().map(String::as_str), out);
    }
    if let Some(issuer) = issuer {
        member(",\"issuer\":", out);
        string(issuer, out);
    }
    if !audience.is_empty() {
        member(",\"audience\":", out);
        strings(audience.iter().map(String::as_str), out);
    }
    for (name, seconds) in
        [(",\"issuedAt\":", issued_at), (",\"notBefore\":", not_before), (",\"expiresAt\":", expires_at)]
            .into_iter()
            .filter(|_| instants)
    {
        if let Some(seconds) = seconds {
            member(name, out);
            number(*seconds, out);
        }
    }
    if let Some(seconds) = lifetime {
        member(",\"lifetime\":", out);
        number(*seconds, out);
    }
    member(",\"outcome\":", out);
    string(TokenTime::name(*time), out);
    if *signature != SignatureCheck::NotChecked {
        member(",\"signature\":", out);
        string(signature.name(), out);
    }
    out.push(b'}');
}
