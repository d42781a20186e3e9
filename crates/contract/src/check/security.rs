//! Authentication and scopes, from both sides: the client must hold them, and the tenant must enforce them.
//!
//! A token is judged at the instant of its exchange. A 401 is never contradicted: the document gives reasons that
//! cannot be seen from outside.

use std::time::Duration;

use contrail_exchange::{
    Credential, Exchange, Request, SignatureCheck, TokenFacts, TokenTime,
    finding::{Finding, NO_AUTHORIZATION, Rule, Unchecked},
    label::label_number,
    media,
    token::{NO_B64TOKEN, NO_TOKEN, basic_fault, credentials, known_scheme},
};
use http::HeaderValue;

use super::state::Check;
use crate::{
    model::{Alternative, ParameterIn, Scheme, Security},
    params,
};

/// Where findings about a credential stand that is no API key.
const AT: &str = "Authorization";

/// Why credentials are not judged.
const UNSEEN: &str = "no message shows the credentials that the document asks for";
const SEVERAL: &str = "the request has several `Authorization` headers";
const MASKED: &str = "the file masks the credentials, or it lacks the instant at which a token counted";

/// What is known of the caller's right to the operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Permission<'a> {
    /// The document has the request refused: why, and where the credential belongs.
    Refuse(&'static str, &'a str),
    /// The token is good and carries the documented scope.
    Holds,
    /// Undecidable.
    Unknown,
}

impl<'a> Check<'a> {
    /// Judges the credentials.
    pub(super) fn security(&mut self) -> Permission<'a> {
        let security = &self.operation.security;
        if security.alternatives.is_empty() {
            // Set where the document's own words are unusable.
            self.touch(Unchecked::Auth);
            return Permission::Unknown;
        }
        if security.is_bearer_only() {
            return self.bearer(&security.alternatives.iter().collect::<Vec<_>>());
        }
        if !self.options.auth {
            self.unchecked.insert(Unchecked::Auth);
            return Permission::Unknown;
        }
        self.alternatives(&security.alternatives)
    }

    /// Finds the alternative that the request satisfies.
    fn alternatives(&mut self, alternatives: &'a [Alternative]) -> Permission<'a> {
        let request = &self.exchange.request;
        let alone = alone(alternatives, request);
        if alone == Some(Shown::Yes) {
            return Permission::Unknown;
        }
        let with_token: Vec<(&Alternative, Shown)> = alternatives
            .iter()
            .filter(|one| one.bearer.is_some())
            .map(|one| (one, others(one, request)))
            .filter(|(_, shown)| *shown != Shown::No)
            .collect();
        let has_token = !matches!(request.credential, Credential::Missing | Credential::OtherScheme { .. });
        if has_token && !with_token.is_empty() && alone != Some(Shown::Unseen) {
            if with_token.iter().all(|(_, shown)| *shown == Shown::Unseen) {
                self.leave(Unchecked::Auth, "", UNSEEN);
            }
            return self.bearer(&with_token.into_iter().map(|(one, _)| one).collect::<Vec<_>>());
        }
        if alone == Some(Shown::Unseen) {
            self.leave(Unchecked::Auth, "", UNSEEN);
            return Permission::Unknown;
        }
        if request.credential == Credential::Unknown {
            // A producer that leaves the Authorization header out of a file may leave out any other credential.
            self.leave(Unchecked::Auth, "", unknown(request));
            return Permission::Unknown;
        }
        let mut others = alternatives.iter().flat_map(|one| &one.others);
        if let Some(fault) = others.find_map(|scheme| scheme_fault(scheme, request)) {
            self.find(Finding::new(Rule::AuthMalformed, AT, format!("base64 of `user:password`: {fault}")));
            return Permission::Refuse("with malformed credentials", AT);
        }
        let expected = alternatives.iter().map(described).collect::<Vec<_>>().join(", or ");
        let missing =
            alternatives.iter().filter_map(|one| one.others.iter().find(|scheme| shows(scheme, request) == Shown::No));
        let at = match missing.into_iter().next() {
            Some(Scheme::ApiKey { name, .. }) if has_token || alternatives.iter().all(|one| one.bearer.is_none()) => {
                &**name
            }
            _ => AT,
        };
        self.find(Finding::new(Rule::AuthMissing, at, expected));
        Permission::Refuse("without the credentials that the document asks for", at)
    }

    /// Judges the bearer token by alternatives that take one.
    fn bearer(&mut self, alternatives: &[&Alternative]) -> Permission<'a> {
        let bearers = || alternatives.iter().filter_map(|one| one.bearer.as_ref());
        let jwt = bearers().all(|bearer| bearer.jwt);
        let mut scopes: Vec<&[Box<str>]> = bearers().map(|bearer| &bearer.scopes[..]).collect();
        // An alternative without scopes asks for none.
        if scopes.iter().any(|scopes| scopes.is_empty()) {
            scopes.clear();
        }
        self.touch(Unchecked::RequiredScope);
        if !self.options.auth {
            self.unchecked.insert(Unchecked::Auth);
            return Permission::Unknown;
        }
        match &self.exchange.request.credential {
            Credential::Unknown => {
                self.leave(Unchecked::Auth, "", unknown(&self.exchange.request));
                Permission::Unknown
            }
            Credential::Missing => {
                self.find(Finding::new(Rule::AuthMissing, AT, "a bearer token"));
                Permission::Refuse("without a token", AT)
            }
            Credential::OtherScheme { scheme, .. } => {
                let finding = Finding::new(Rule::AuthMissing, AT, "a bearer token");
                self.find(if scheme.is_empty() { finding } else { finding.seen(scheme.clone()) });
                Permission::Refuse("without a bearer token", AT)
            }
            Credential::Malformed(reason) if reason == NO_TOKEN && !jwt => {
                self.find(Finding::new(Rule::AuthMissing, AT, "a bearer token"));
                Permission::Refuse("without a bearer token", AT)
            }
            Credential::Malformed(reason) if reason == NO_B64TOKEN && !jwt && !self.has_label() => {
                self.find(Finding::new(Rule::AuthMalformed, AT, format!("a bearer token: {reason}")));
                Permission::Refuse("with a malformed token", AT)
            }
            Credential::Malformed(_) if !jwt => {
                // The document does not state that it is a JWT, so its time and its scopes cannot be read.
                self.leave(Unchecked::Auth, AT, "the token is no JWT that contrail could read");
                Permission::Unknown
            }
            Credential::Malformed(reason) => {
                self.find(Finding::new(Rule::AuthMalformed, AT, format!("a JWT: {reason}")));
                Permission::Refuse("with a malformed token", AT)
            }
            Credential::Encrypted => {
                self.leave(Unchecked::RequiredScope, AT, "the token is encrypted");
                self.leave(Unchecked::Auth, AT, "the token is encrypted");
                Permission::Unknown
            }
            Credential::Token(facts) => self.token(facts, &scopes, jwt),
        }
    }

    /// Whether redaction replaced the bearer token.
    fn has_label(&self) -> bool {
        let value = self.exchange.request.headers.get(AT);
        value.and_then(|value| credentials(value.as_bytes(), "bearer")).and_then(label_number).is_some()
    }

    fn token(&mut self, facts: &TokenFacts, alternatives: &[&[Box<str>]], jwt: bool) -> Permission<'a> {
        let mut standing = Permission::Unknown;
        match time(facts, self.exchange, self.options.clock_skew) {
            TokenTime::Valid => {}
            TokenTime::Expired => {
                self.find(Finding::new(Rule::AuthExpired, AT, "a token before its `exp`"));
                standing = Permission::Refuse("with an expired token", AT);
            }
            TokenTime::NotYet => {
                self.find(Finding::new(Rule::AuthExpired, AT, "a token from its `nbf` on"));
                standing = Permission::Refuse("with a token that is not yet valid", AT);
            }
        }
        if facts.signature == SignatureCheck::Bad {
            self.find(Finding::new(Rule::AuthSignature, AT, "a signature that one of the given keys verifies"));
            standing = Permission::Refuse("with a token whose signature fails", AT);
        }
        if facts.signature == SignatureCheck::NotChecked && (self.options.signatures || self.is_accepted()) {
            if let Some(key) = &facts.unknown_key {
                let why = format!("the given key set has no usable key `{key}`, the token's `kid`");
                self.leave(Unchecked::Signature, AT, why);
            } else if self.options.signatures {
                self.leave(Unchecked::Signature, AT, "the recording does not hold the token");
            } else {
                self.unchecked.insert(Unchecked::Signature);
            }
        }
        if facts.scopes.is_none() && !jwt && !alternatives.is_empty() {
            // It may have scopes all the same: nothing says that its claims are the place for them.
            self.leave(Unchecked::Auth, AT, "the token's claims name no scopes, and the document states no JWT");
            return standing;
        }
        let held = facts.scopes.as_deref().unwrap_or_default();
        let holds = |scope: &str| held.iter().any(|one| one == scope);
        if alternatives.iter().any(|scopes| scopes.iter().all(|scope| holds(scope))) {
            if standing == Permission::Unknown {
                standing = Permission::Holds;
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
            standing = Permission::Refuse("with a token that lacks the documented scope", AT);
        }
        if let Some(catalogue) = &self.model.scopes {
            for scope in catalogue.undeclared(held) {
                self.find(Finding::new(Rule::AuthScopeUndeclared, AT, "a declared scope").seen(scope.clone()));
            }
        }
        standing
    }

    /// Whether the tenant took the request, where that is judged.
    fn is_accepted(&self) -> bool {
        self.options.response && self.answer().is_some_and(|response| (200..300).contains(&response.status))
    }

    /// What the tenant made of the credential.
    pub(super) fn enforcement(&mut self, standing: Permission<'_>) {
        let Some(response) = self.answer() else { return };
        match (standing, response.status) {
            (Permission::Refuse(why, at), 200..300) => {
                let expected = format!("the tenant to refuse a request {why}");
                self.find(Finding::new(Rule::AuthUnenforced, at, expected).seen(response.status.to_string()));
            }
            (Permission::Holds, 403) if self.operation.responses.find(403).is_some_and(|said| said.scope_missing) => {
                let expected = "no 403 for a token that carries the documented scope";
                self.find(Finding::new(Rule::AuthRefused, AT, expected).seen("403"));
            }
            _ => {}
        }
    }
}

/// Whether a request carries a credential; the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Shown {
    No,
    /// No message shows it.
    Unseen,
    Yes,
}

/// What the contract asks of the scopes of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Demand<'a> {
    /// Nothing: the request needs no token.
    Nothing,
    /// No message or no document shows it.
    NotShown,
    /// All scopes of one of these.
    Scopes(Vec<&'a [Box<str>]>),
}

impl Security {
    /// What the scopes of a request's token have to be, in view of its other credentials.
    pub fn demand(&self, request: &Request) -> Demand<'_> {
        let bearers = || self.alternatives.iter().filter_map(|one| one.bearer.as_ref());
        if bearers().next().is_none() {
            return Demand::Nothing;
        }
        match alone(&self.alternatives, request) {
            Some(Shown::Yes) => Demand::Nothing,
            Some(Shown::Unseen) => Demand::NotShown,
            // An alternative without scopes asks for none.
            _ if bearers().any(|bearer| bearer.scopes.is_empty()) => Demand::NotShown,
            _ => {
                let mut scopes: Vec<_> = bearers().map(|bearer| &*bearer.scopes).collect();
                scopes.dedup();
                Demand::Scopes(scopes)
            }
        }
    }
}

/// Whether a request satisfies an alternative that takes no token; `None` if there is none.
fn alone(alternatives: &[Alternative], request: &Request) -> Option<Shown> {
    alternatives.iter().filter(|one| one.bearer.is_none()).map(|one| others(one, request)).max()
}

/// Whether a request carries all that an alternative takes besides a token.
fn others(alternative: &Alternative, request: &Request) -> Shown {
    alternative.others.iter().map(|scheme| shows(scheme, request)).fold(Shown::Yes, Ord::min)
}

/// Why the credentials of a request are unknown.
fn unknown(request: &Request) -> &'static str {
    match request.headers.get_all(AT).count() {
        0 => NO_AUTHORIZATION,
        1 => MASKED,
        _ => SEVERAL,
    }
}

/// Whether the request carries a credential.
fn shows(scheme: &Scheme, request: &Request) -> Shown {
    let is = |carried: bool| if carried { Shown::Yes } else { Shown::No };
    match (scheme, &request.credential) {
        (Scheme::Unseen(_), _) | (Scheme::Http(_), Credential::Unknown) => Shown::Unseen,
        (Scheme::Http(wanted), Credential::OtherScheme { scheme: held, .. }) => {
            match request.headers.get(AT).map(HeaderValue::as_bytes) {
                Some(value) => match credentials(value, wanted) {
                    Some(credentials) => is(!credentials.is_empty() && scheme_fault(scheme, request).is_none()),
                    // Redaction replaces a scheme that it does not know with the credentials.
                    None if label_number(value.trim_ascii()).is_some() && known_scheme(wanted.as_bytes()).is_none() => {
                        Shown::Unseen
                    }
                    None => Shown::No,
                },
                None => is(wanted.eq_ignore_ascii_case(held)),
            }
        }
        (Scheme::Http(_), _) => Shown::No,
        (Scheme::ApiKey { place: ParameterIn::Header, name }, credential) => {
            if name.eq_ignore_ascii_case(AT) && *credential == Credential::Unknown {
                return Shown::Unseen;
            }
            is(request.headers.get(name).is_some_and(|value| !value.is_empty()))
        }
        (Scheme::ApiKey { place: ParameterIn::Cookie, name }, credential) => {
            // A producer that leaves the Authorization header out of a file leaves the cookies out.
            if *credential == Credential::Unknown && !request.headers.contains("cookie") {
                return Shown::Unseen;
            }
            let values = request.headers.get_all("cookie").filter_map(|value| value.to_str().ok());
            is(values.flat_map(media::cookies).any(|(held, value)| *held == **name && !value.is_empty()))
        }
        (Scheme::ApiKey { name, .. }, _) => {
            let query = request.target.query().unwrap_or_default();
            let is_it =
                |name: &str, pair: params::Pair<'_>| pair.name.is_ok_and(|held| *held == *name) && !pair.raw.is_empty();
            is(params::pairs(query.as_bytes()).any(|pair| is_it(name, pair)))
        }
    }
}

/// Why the credentials of the request are none of the scheme `Basic`, where that is the scheme of both.
fn scheme_fault(scheme: &Scheme, request: &Request) -> Option<&'static str> {
    let Scheme::Http(wanted) = scheme else { return None };
    let value = request.headers.get(AT).filter(|_| wanted.eq_ignore_ascii_case("basic"))?;
    let credentials = credentials(value.as_bytes(), wanted)?;
    let is_shown = !credentials.is_empty() && label_number(credentials).is_none();
    is_shown.then(|| basic_fault(credentials)).flatten()
}

/// An alternative as a message names it.
fn described(alternative: &Alternative) -> String {
    let other = |scheme: &Scheme| match scheme {
        Scheme::Http(scheme) => format!("`{scheme}` credentials"),
        Scheme::ApiKey { place: ParameterIn::Header, name } => format!("an API key in the header `{name}`"),
        Scheme::ApiKey { place: ParameterIn::Cookie, name } => format!("an API key in the cookie `{name}`"),
        Scheme::ApiKey { name, .. } => format!("an API key in the query parameter `{name}`"),
        Scheme::Unseen(name) => format!("`{name}`"),
    };
    let token = alternative.bearer.as_ref().map(|_| "a bearer token".to_owned());
    token.into_iter().chain(alternative.others.iter().map(other)).collect::<Vec<_>>().join(" and ")
}

/// Whether the token was inside its time: computed where the instant is known, else as it was noted then.
fn time(facts: &TokenFacts, exchange: &Exchange, skew: Duration) -> TokenTime {
    match exchange.started {
        Some(started) if facts.expires_at.or(facts.not_before).is_some() => facts.time_at(started, skew),
        _ => facts.time,
    }
}
