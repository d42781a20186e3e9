//! contrail's own member of an entry (`_contrail`), as bytes.

use std::sync::Arc;

use contrail_exchange::{
    Body, ByToken, Credential, Exchange, Presence, SignatureCheck, TokenFacts, TokenTime,
    finding::{Blame, Finding, Unchecked, Verdict},
    json::write::{Object, comma, number, raw},
};

use crate::{Attested, LaidOut, VERSION};

/// What is the same in many entries of a journal.
#[derive(Debug, Clone)]
pub struct JournalContext {
    /// The upstream's origin (`https://tenant.example.com`), or several as [`upstreams`](contrail_exchange::upstreams).
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

impl<'a> BodyLocation<'a> {
    fn sha256(&self) -> Option<&'a str> {
        match self {
            Self::Inline => None,
            Self::File { sha256, .. } => Some(sha256),
        }
    }
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
            self::facts(facts, true, &mut text);
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
    raw(out, ",\"_contrail\":");
    let mut own = Object::begin(out);
    let run = matches!(style, Style::Journal { .. });
    own.some_number("version", run.then_some(VERSION));
    match &verdict.operation {
        Some(operation) => own.text("operation", operation),
        None => raw(own.value("operation"), "null"),
    }
    if let Style::Journal { context, .. } = style {
        own.text("verdict", verdict.conclusion().name());
        own.some_text("blame", verdict.blame.map(Blame::name));
        findings(&verdict.findings, true, own.value("findings"));
        own.texts("unchecked", verdict.unchecked.iter().map(Unchecked::name));
        own.text("contract", &context.contract);
        own.text("upstream", &context.upstream);
        own.some_text("session", exchange.request.target.session.as_deref());
    }
    if let Some(attested) = attested {
        self::attested(attested, own.object("attested"));
    }
    match style {
        Style::Journal { token: Some(token), .. } => own.value("token").extend_from_slice(token),
        Style::Fixture { token: Some(label), .. } => own.text("token", label),
        _ => credential(&exchange.request.credential, run, &mut own),
    }
    let transport = &exchange.transport;
    own.flag("retried", transport.retried && run);
    own.some_text("originalAudience", transport.original_audience.as_deref().filter(|_| run));
    own.some_text("answered", if run { transport.answered() } else { transport.answered_by_contrail.as_deref() });
    own.some_text("incomplete", transport.incomplete.as_deref());
    own.some_number("given", transport.given.filter(|_| run));
    own.flag("clientLeft", transport.client_left);
    own.flag("clientClosed", transport.client_closed);
    own.flag("trailers", transport.trailers);
    if let Some(times) = &transport.event_times {
        let out = own.value("eventTimes");
        for (at, time) in times.iter().enumerate() {
            raw(out, if at == 0 { "[" } else { "," });
            number(*time, out);
        }
        raw(out, "]");
    }
    if let Style::Fixture { request, response, laid_out, .. } = style {
        let sides = [("request", request, laid_out.request), ("response", response, laid_out.response)];
        if laid_out != LaidOut::default() {
            own.texts("laidOut", sides.iter().filter(|(.., is_laid_out)| *is_laid_out).map(|(side, ..)| *side));
        }
        let files = || sides.iter().filter_map(|(side, place, _)| Some((*side, place.sha256()?)));
        if files().next().is_some() {
            let mut digests = own.object("sha256");
            files().for_each(|(side, sha256)| digests.text(side, sha256));
            digests.end();
        }
    }
    body("request", &exchange.request.body, &mut own);
    if let Some(response) = &exchange.response {
        body("response", &response.body, &mut own);
    }
    own.end();
}

/// What is known of a body beside its text; nothing where it is whole and nothing in it was replaced.
fn body(side: &str, body: &Body, own: &mut Object<'_>) {
    if body.is_whole() && !body.malformed && !body.coded && body.redacted.is_empty() {
        return;
    }
    let mut known = own.object(side);
    match &body.presence {
        Presence::Whole => {}
        Presence::Truncated { kept, total } => {
            let mut truncated = known.object("truncated");
            truncated.some_number("kept", Some(*kept));
            truncated.some_number("total", *total);
            truncated.end();
        }
        Presence::Withheld(reason) => known.text("withheld", reason.name()),
    }
    known.flag("malformed", body.malformed);
    known.flag("coded", body.coded);
    if !body.redacted.is_empty() {
        known.texts("redacted", body.redacted.iter().map(String::as_str));
    }
    known.end();
}

fn findings(findings: &[Finding], message: bool, out: &mut Vec<u8>) {
    out.push(b'[');
    let mut first = true;
    for finding in findings {
        comma(&mut first, out);
        let mut object = Object::begin(out);
        object.text("rule", finding.rule.id());
        object.text("kind", finding.kind().name());
        object.text("at", &finding.at);
        object.some_text("message", message.then(|| finding.message()).as_deref());
        object.text("expected", &finding.expected);
        object.some_text("seen", finding.seen.as_deref());
        object.end();
    }
    out.push(b']');
}

fn attested(attested: &Attested, mut object: Object<'_>) {
    object.text("contract", &attested.contract);
    findings(&attested.findings, false, object.value("findings"));
    let indexes: Vec<String> = attested.indexes.iter().map(usize::to_string).collect();
    raw(object.value("indexes"), &format!("[{}]", indexes.join(",")));
    findings(&attested.cleared, false, object.value("cleared"));
    if let Some(set) = attested.unchecked {
        object.texts("unchecked", set.iter().map(Unchecked::name));
    }
    object.some_text("blame", attested.blame.map(Blame::name));
    object.end();
}

fn credential(credential: &Credential, instants: bool, own: &mut Object<'_>) {
    let mut token = match credential {
        Credential::Missing => return,
        Credential::Token(facts) => return self::facts(facts, instants, own.value("token")),
        _ => own.object("token"),
    };
    match credential {
        Credential::OtherScheme { scheme, user } => {
            token.text("scheme", scheme);
            token.some_text("user", user.as_deref());
        }
        Credential::Malformed(reason) => token.text("malformed", reason),
        Credential::Encrypted => token.flag("encrypted", true),
        _ => token.flag("unknown", true),
    }
    token.end();
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
    let mut object = Object::begin(out);
    object.some_text("client", client.as_deref());
    object.some_text("user", user.as_deref());
    if let Some(scopes) = scopes {
        object.texts("scopes", scopes.iter().map(String::as_str));
    }
    object.some_text("issuer", issuer.as_deref());
    if !audience.is_empty() {
        object.texts("audience", audience.iter().map(String::as_str));
    }
    object.some_number("issuedAt", issued_at.filter(|_| instants));
    object.some_number("notBefore", not_before.filter(|_| instants));
    object.some_number("expiresAt", expires_at.filter(|_| instants));
    object.some_number("lifetime", *lifetime);
    object.text("outcome", TokenTime::name(*time));
    object.some_text("signature", Some(signature.name()).filter(|_| *signature != SignatureCheck::NotChecked));
    object.end();
}
