//! Authentication and scopes, from both sides: the client must hold them, and the tenant must enforce them.
//!
//! A token is judged at the instant of its exchange. A 401 is never contradicted: the document gives reasons that nobody
//! can see from outside.

use std::time::Duration;

use super::Check;
use crate::{
    exchange::Exchange,
    finding::{Finding, Rule, Unchecked},
    token::{Credential, NO_TOKEN, SignatureCheck, TokenFacts, TokenTime},
};

/// Where findings about the credential stand.
const AT: &str = "Authorization";

/// What is known of the caller's right to the operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// The document has the request refused, and says why.
    Refuse(&'static str),
    /// The token is good and carries the documented scope.
    Holds,
    /// Nobody can say.
    Unknown,
}

impl Check<'_> {
    /// Judges the credential.
    pub(super) fn security(&mut self) -> Standing {
        let security = &self.operation.security;
        if !security.required {
            // Set where the document asks for something that is not implemented.
            self.touch(Unchecked::Auth);
            return Standing::Unknown;
        }
        self.touch(Unchecked::RequiredScope);
        if !self.options.auth {
            self.unchecked.insert(Unchecked::Auth);
            return Standing::Unknown;
        }
        match &self.exchange.request.credential {
            Credential::Unknown => {
                self.unchecked.insert(Unchecked::Auth);
                Standing::Unknown
            }
            Credential::Missing => {
                self.find(Finding::new(Rule::AuthMissing, AT, "a bearer token"));
                Standing::Refuse("without a token")
            }
            Credential::OtherScheme(scheme) => {
                let finding = Finding::new(Rule::AuthMissing, AT, "a bearer token");
                self.find(if scheme.is_empty() { finding } else { finding.seen(scheme.clone()) });
                Standing::Refuse("without a bearer token")
            }
            Credential::Malformed(reason) if reason == NO_TOKEN && !security.jwt => {
                self.find(Finding::new(Rule::AuthMissing, AT, "a bearer token"));
                Standing::Refuse("without a bearer token")
            }
            Credential::Malformed(_) if !security.jwt => {
                // The document does not say that it is a JWT, so nobody can read its time and its scopes.
                self.unchecked.insert(Unchecked::Auth);
                Standing::Unknown
            }
            Credential::Malformed(reason) => {
                self.find(Finding::new(Rule::AuthMalformed, AT, format!("a JWT: {reason}")));
                Standing::Refuse("with a malformed token")
            }
            Credential::Encrypted => {
                self.unchecked.insert(Unchecked::RequiredScope);
                self.unchecked.insert(Unchecked::Auth);
                Standing::Unknown
            }
            Credential::Token(facts) => self.token(facts),
        }
    }

    fn token(&mut self, facts: &TokenFacts) -> Standing {
        let mut standing = Standing::Unknown;
        match time(facts, self.exchange, self.options.clock_skew) {
            TokenTime::Valid => {}
            TokenTime::Expired => {
                self.find(Finding::new(Rule::AuthExpired, AT, "a token before its `exp`"));
                standing = Standing::Refuse("with an expired token");
            }
            TokenTime::NotYet => {
                self.find(Finding::new(Rule::AuthExpired, AT, "a token from its `nbf` on"));
                standing = Standing::Refuse("with a token that is not yet valid");
            }
        }
        if facts.signature == SignatureCheck::Bad {
            self.find(Finding::new(Rule::AuthSignature, AT, "a signature that one of the given keys verifies"));
            standing = Standing::Refuse("with a token whose signature fails");
        }
        let security = &self.operation.security;
        if facts.scopes.is_none() && !security.jwt && !security.scopes.is_empty() {
            // It may have scopes all the same: nothing says that its claims are the place for them.
            self.unchecked.insert(Unchecked::Auth);
            return standing;
        }
        let held = facts.scopes.as_deref().unwrap_or_default();
        let holds = |scope: &str| held.iter().any(|one| one == scope);
        let alternatives = &security.scopes;
        if alternatives.iter().any(|scopes| scopes.iter().all(|scope| holds(scope))) {
            if standing == Standing::Unknown {
                standing = Standing::Holds;
            }
        } else if !alternatives.is_empty() {
            let texts: Vec<String> =
                alternatives.iter().map(|scopes| format!("`{}`", scopes.join("` and `"))).collect();
            let mut distinct: Vec<&str> = Vec::new();
            for text in &texts {
                if !distinct.contains(&text.as_str()) {
                    distinct.push(text);
                }
            }
            let expected = format!("the scope {}", distinct.join(" or "));
            self.find(match held {
                [] => Finding::new(Rule::AuthScope, AT, format!("{expected}, and the token holds no scope")),
                several => Finding::new(Rule::AuthScope, AT, expected).seen(several.join(" ")),
            });
            standing = Standing::Refuse("with a token that lacks the documented scope");
        }
        if let Some(catalogue) = &self.model.scopes {
            for scope in held.iter().filter(|scope| !catalogue.contains(scope.as_str())) {
                self.find(Finding::new(Rule::AuthScopeUndeclared, AT, "a declared scope").seen(scope.clone()));
            }
        }
        standing
    }

    /// What the tenant made of the credential.
    pub(super) fn enforcement(&mut self, standing: Standing) {
        let Some(response) = self.answer() else { return };
        match (standing, response.status) {
            (Standing::Refuse(why), 200..300) => {
                let expected = format!("the tenant to refuse a request {why}");
                self.find(Finding::new(Rule::AuthUnenforced, AT, expected).seen(response.status.to_string()));
            }
            (Standing::Holds, 403) if self.operation.responses.find(403).is_some_and(|said| said.scope_missing) => {
                let expected = "no 403 for a token that carries the documented scope";
                self.find(Finding::new(Rule::AuthRefused, AT, expected).seen("403"));
            }
            _ => {}
        }
    }
}

/// Whether the token was inside its time: computed where the instant is known, else as it was noted then.
fn time(facts: &TokenFacts, exchange: &Exchange, skew: Duration) -> TokenTime {
    match exchange.started {
        Some(started) if facts.expires_at.or(facts.not_before).is_some() => facts.time_at(started, skew),
        _ => facts.time,
    }
}
