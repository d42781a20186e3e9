//! What one exchange adds to the tables, as plain data.

use std::sync::Arc;

use contrail_redact::Redactor;
use serde::{Deserialize, Serialize};

/// One exchange with its findings, and the facts of its token.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    /// The id of the trail that it stands in.
    pub(super) trail: Option<Arc<str>>,
    pub(super) source: Arc<str>,
    /// Index in that file.
    pub(super) entry: i64,
    /// Line in a journal.
    pub(super) line: Option<i64>,
    /// Microseconds since 1970.
    pub(super) started: Option<i64>,
    /// Microseconds.
    pub(super) duration: Option<i64>,
    /// Microseconds.
    pub(super) wait: Option<i64>,
    pub(super) method: String,
    pub(super) origin: String,
    pub(super) path: String,
    pub(super) query: Option<String>,
    pub(super) operation: Option<Arc<str>>,
    pub(super) status: Option<i64>,
    pub(super) verdict: String,
    pub(super) blame: Option<String>,
    pub(super) caller: String,
    pub(super) client: Option<String>,
    pub(super) credential: String,
    pub(super) token: Option<Token>,
    pub(super) token_time: Option<String>,
    pub(super) signature: Option<String>,
    /// The scopes of one of them are enough, each joined by spaces.
    pub(super) required_scopes: Option<Arc<[String]>>,
    /// Bytes on the wire.
    pub(super) request_bytes: Option<i64>,
    pub(super) response_bytes: Option<i64>,
    /// A value of the `Contrail-Answer` header.
    pub(super) answered: Option<String>,
    pub(super) findings: Vec<Finding>,
}

impl Row {
    /// Takes out secrets that were recognised later, wherever a client or the tenant chose the text.
    pub(super) fn redact(&mut self, redactor: &Redactor) {
        let token = self.token.iter_mut().flat_map(|token| {
            let Token { client, scopes, issuer, audience, .. } = token;
            client.iter_mut().chain(scopes.iter_mut().flatten()).chain(issuer).chain(audience)
        });
        let findings =
            self.findings.iter_mut().flat_map(|finding| finding.place.iter_mut().chain(&mut finding.message));
        let request = [&mut self.origin, &mut self.path, &mut self.caller].into_iter();
        let texts = request.chain(&mut self.query).chain(&mut self.client).chain(token).chain(findings);
        for text in texts {
            let clean = redactor.text(text);
            if *clean != *text {
                *text = clean.into_inner();
            }
        }
    }
}

/// A token's facts, under a key that is made of nothing else.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Token {
    pub(super) key: Arc<str>,
    pub(super) client: Option<String>,
    pub(super) scopes: Option<Vec<String>>,
    pub(super) issuer: Option<String>,
    pub(super) audience: Vec<String>,
    /// Seconds since 1970.
    pub(super) issued_at: Option<i64>,
    pub(super) not_before: Option<i64>,
    pub(super) expires_at: Option<i64>,
    /// Seconds.
    pub(super) lifetime: Option<i64>,
}

/// A finding, or an aspect that was not checked.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Finding {
    pub(super) kind: String,
    pub(super) rule: Option<String>,
    pub(super) aspect: Option<String>,
    pub(super) place: Option<String>,
    pub(super) message: Option<String>,
}
