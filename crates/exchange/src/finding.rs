//! What a check says: findings (plain data, never errors), and what could not be checked.
//!
//! A check has three outcomes: the document agrees, it is contradicted ([`Kind::Violation`]), or it is silent
//! ([`Kind::Gap`]). What could not be judged is [`Unchecked`], never a pass.

use std::{
    borrow::Cow,
    fmt::{self, Write as _},
    str::FromStr,
    sync::Arc,
};

use serde::{Serialize, Serializer};

use crate::{suggest::nearest, visible::visible};

/// What stands for the operation of an exchange that no document has.
pub const UNDOCUMENTED: &str = "undocumented";

/// Whether the document is contradicted or silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// The document states something, and the exchange contradicts it.
    Violation,
    /// The document states nothing here, so there is nothing to judge by.
    Gap,
}

impl Kind {
    /// The word used in output: `violation` or `gap`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Violation => "violation",
            Self::Gap => "gap",
        }
    }
}

macro_rules! rules {
    ($($variant:ident $id:literal $kind:ident $summary:literal;)*) => {
        /// A rule with a stable, public id (`docs/rules.md`).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Rule { $(#[doc = $summary] $variant,)* }

        impl Rule {
            /// Every rule, in the order of `docs/rules.md`.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The stable id, for example `request.body`.
            #[must_use]
            pub fn id(self) -> &'static str {
                match self { $(Self::$variant => $id,)* }
            }

            /// What kind of finding the rule gives.
            #[must_use]
            pub fn kind(self) -> Kind {
                match self { $(Self::$variant => Kind::$kind,)* }
            }

            /// Whether it is one of the `auth.*` rules, which need the `Authorization` header.
            #[must_use]
            pub fn is_auth(self) -> bool {
                self.id().starts_with("auth.")
            }

            /// One line: when it fires.
            #[must_use]
            pub fn summary(self) -> &'static str {
                match self { $(Self::$variant => $summary,)* }
            }
        }
    };
}

rules! {
    OperationUndocumented "operation.undocumented" Gap "no documented operation has this method and path";
    PathParameter "path.parameter" Violation "a documented path parameter breaks its schema";
    QueryParameter "query.parameter" Violation "a documented query parameter breaks its schema, is missing or is repeated";
    HeaderParameter "header.parameter" Violation "a documented header parameter breaks its schema or is missing";
    CookieParameter "cookie.parameter" Violation "a documented cookie parameter breaks its schema or is missing";
    QueryUndocumented "query.undocumented" Gap "a query parameter that is not documented";
    RequestContentType "request.content-type" Violation "a request media type that is not documented";
    ResponseContentType "response.content-type" Violation "a response media type that is not documented";
    RequestBody "request.body" Violation "the request body breaks its documented schema";
    ResponseBody "response.body" Violation "the response body breaks its documented schema";
    RequestBodyMalformed "request.body.malformed" Violation "the request body is not the media type it claims to be";
    ResponseBodyMalformed "response.body.malformed" Violation "the response body is not the media type it claims to be";
    RequestBodyUnexpected "request.body.unexpected" Violation "a request body where the document states that there is none";
    RequestBodyUndocumented "request.body.undocumented" Gap "a request field or value that the document does not show";
    ResponseBodyUndocumented "response.body.undocumented" Gap "a response field or value that the document does not show";
    AuthMissing "auth.missing" Violation "no credential of a kind that the document asks for (a bearer token, an API key, …)";
    AuthMalformed "auth.malformed" Violation "the token is not a JWT where the document asks for one, or credentials are malformed";
    AuthExpired "auth.expired" Violation "the token is outside its time at the instant of the exchange";
    AuthSignature "auth.signature" Violation "the token fails its signature";
    AuthScope "auth.scope" Violation "the token lacks the documented scope";
    AuthScopeUndeclared "auth.scope.undeclared" Gap "the token carries a scope that is not in the declared catalogue";
    AuthUnenforced "auth.unenforced" Violation "the tenant accepted a request that it had to refuse";
    AuthRefused "auth.refused" Violation "403 although the token carries the documented scope, where 403 means that it lacks it";
    StatusSuccess "status.success" Violation "another 2xx than the documented one";
    StatusUndocumented "status.undocumented" Gap "a status that the document does not list, where it lists some";
    ResponseHeaders "response.headers" Violation "a documented response header is missing";
    ResponseHeader "response.header" Violation "the value of a documented response header breaks its schema";
    ExchangeIdentity "exchange.identity" Violation "the response is about another resource than the one asked for";
    ExchangePageSize "exchange.page-size" Violation "a page holds more items than were asked for";
    ExchangeEcho "exchange.echo" Violation "a field that was sent came back different";
    TransportIncomplete "transport.incomplete" Violation "the response ended before it was whole, so its body was not judged";
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

/// A word that names no rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownRule(pub String);

impl fmt::Display for UnknownRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a rule", self.0)?;
        if let Some(nearest) = nearest(&self.0, Rule::ALL.iter().map(|rule| rule.id())) {
            return write!(f, "; did you mean `{nearest}`? `contrail explain` lists them all");
        }
        f.write_str("; `contrail explain` lists them all")
    }
}

impl std::error::Error for UnknownRule {}

impl FromStr for Rule {
    type Err = UnknownRule;

    fn from_str(id: &str) -> Result<Self, UnknownRule> {
        Self::ALL.iter().copied().find(|rule| rule.id() == id).ok_or_else(|| UnknownRule(id.to_owned()))
    }
}

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}

/// One place where an exchange contradicts the document, or where the document is silent.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Finding {
    /// Which rule.
    pub rule: Rule,
    /// Where: a JSON pointer into a body, or a parameter or header name; empty for the message as a whole.
    pub at: String,
    /// What the document states, as a clause that follows "expected": `an integer of at most 10000`.
    pub expected: Cow<'static, str>,
    /// What was there instead, whole: text of a scalar (never of a container). It may be a secret until it has passed
    /// redaction, so it is quoted and cut for reading only in [`Finding::message`].
    pub seen: Option<String>,
}

impl Finding {
    /// How what is expected begins where a value fits several variants of which it may fit one.
    pub const EXACTLY_ONE: &str = "exactly one of the ";

    /// Whether the value fits several variants, where another finding of this rule and place may be that it fits none.
    #[must_use]
    pub fn fits_several(&self) -> bool {
        self.expected.contains(Self::EXACTLY_ONE)
    }

    /// Maximum characters of one value that a message shows.
    const MAX_SAMPLE: usize = 200;

    /// Maximum items of a list that a line on a console shows.
    const MAX_ITEMS: usize = 6;

    /// A finding without a sample.
    pub fn new(rule: Rule, at: impl Into<String>, expected: impl Into<Cow<'static, str>>) -> Self {
        Self { rule, at: at.into(), expected: expected.into(), seen: None }
    }

    /// The same with what was seen instead.
    #[must_use]
    pub fn seen(mut self, seen: impl Into<String>) -> Self {
        self.seen = Some(seen.into());
        self
    }

    /// The rule's kind.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.rule.kind()
    }

    /// One sentence for people: what was expected beside what was seen, values in backticks.
    #[must_use]
    pub fn message(&self) -> String {
        let expected = visible(&self.expected);
        let Some(seen) = &self.seen else { return format!("expected {expected}") };
        let seen = match self.rule {
            // A scope holds no space.
            Rule::AuthScope => seen.split(' ').map(quoted).collect::<Vec<_>>().join(", "),
            _ if seen.is_empty() => "an empty text".to_owned(),
            _ => quoted(seen),
        };
        format!("expected {expected}, saw {seen}")
    }

    /// The same for a line on a console: a long list ends with a count of what is left out, and no value is cut that
    /// [`Finding::message`] shows whole.
    #[must_use]
    pub fn short_message(&self) -> String {
        let message = self.message();
        let mut short = String::with_capacity(message.len());
        let (mut listed, mut left_out) = (0, 0);
        for (index, item) in message.split("`, `").enumerate() {
            // Where a list ends, its last item is followed by a backtick, and what comes next may begin another one.
            let ends = index > 0 && item.contains('`');
            if index == 0 {
                short.push_str(item);
                listed = 1;
            } else if listed < Self::MAX_ITEMS {
                short.push_str("`, `");
                short.push_str(item);
                listed = if ends { 1 } else { listed + 1 };
            } else if ends {
                let rest = item.split_once('`').map_or("", |(_, rest)| rest);
                let _ = write!(short, "` and {} more{rest}", left_out + 1);
                (listed, left_out) = (1, 0);
            } else {
                left_out += 1;
            }
        }
        short
    }
}

/// A value as messages show it: in backticks, nothing in it that ends them or that a terminal could act on, whole up to
/// a bound.
fn quoted(value: &str) -> String {
    let shown = |value: &str| visible(value).replace('`', "\\u{60}");
    match value.char_indices().nth(Finding::MAX_SAMPLE) {
        None => format!("`{}`", shown(value)),
        Some((cut, _)) => format!("`{}…` ({} characters)", shown(&value[..cut]), value.chars().count()),
    }
}

/// An aspect that could not be checked, because the document does not show it or because it cannot be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Unchecked {
    /// The scope that the operation requires.
    RequiredScope,
    /// The status of success.
    SuccessStatus,
    /// The statuses of failure.
    ErrorStatus,
    /// The body of a failure.
    ErrorBody,
    /// Which request fields are required, or whether a body is.
    RequestRequired,
    /// The request body as a whole.
    RequestBody,
    /// The response body as a whole.
    ResponseBody,
    /// Which response fields are always present.
    ResponseRequired,
    /// Authentication.
    Auth,
    /// Parameters of the request.
    RequestParameters,
    /// Values of response headers.
    ResponseHeaders,
    /// The signature of the token.
    Signature,
}

impl Unchecked {
    /// Every aspect, in the order of output.
    pub const ALL: [Self; 12] = [
        Self::RequiredScope,
        Self::SuccessStatus,
        Self::ErrorStatus,
        Self::ErrorBody,
        Self::RequestRequired,
        Self::RequestBody,
        Self::ResponseBody,
        Self::ResponseRequired,
        Self::Auth,
        Self::RequestParameters,
        Self::ResponseHeaders,
        Self::Signature,
    ];

    /// The public name, for example `required-scope`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::RequiredScope => "required-scope",
            Self::SuccessStatus => "success-status",
            Self::ErrorStatus => "error-status",
            Self::ErrorBody => "error-body",
            Self::RequestRequired => "request-required",
            Self::RequestBody => "request-body",
            Self::ResponseBody => "response-body",
            Self::ResponseRequired => "response-required",
            Self::Auth => "auth",
            Self::RequestParameters => "request-parameters",
            Self::ResponseHeaders => "response-headers",
            Self::Signature => "signature",
        }
    }

    /// The aspect of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|aspect| aspect.name() == name)
    }

    /// Why it is unchecked where no [`Reason`] says more.
    #[must_use]
    pub fn not_shown(self) -> &'static str {
        match self {
            Self::RequiredScope => "the document does not show the scope",
            Self::SuccessStatus => "the document does not show the status of success",
            Self::ErrorStatus => "the document does not show the statuses of errors",
            Self::ErrorBody => "the document does not show the body of this error",
            Self::RequestRequired => "the document does not show what is required",
            Self::RequestBody | Self::ResponseBody => "the document does not show the body",
            Self::ResponseRequired => "the document does not show which fields are always present",
            Self::Auth => "it is not judged here, or contrail cannot use what the document states of it",
            Self::RequestParameters | Self::ResponseHeaders => "contrail cannot use what the document states of it",
            Self::Signature => "no keys were given",
        }
    }
}

impl Serialize for Unchecked {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Why an aspect of an exchange could not be checked, and where.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Reason {
    /// What could not be checked.
    pub aspect: Unchecked,
    /// The place: a JSON pointer, or the name of a parameter or header. Empty for all of the aspect.
    pub at: String,
    /// Why, as a sentence without its full stop.
    pub reason: Cow<'static, str>,
}

/// A set of aspects; two bytes, so that a verdict costs nothing to carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct UncheckedSet(u16);

impl UncheckedSet {
    /// Adds one.
    pub fn insert(&mut self, aspect: Unchecked) {
        self.0 |= 1 << aspect as u8;
    }

    /// Takes one out.
    pub fn remove(&mut self, aspect: Unchecked) {
        self.0 &= !(1 << aspect as u8);
    }

    /// Whether it is in the set.
    #[must_use]
    pub fn contains(self, aspect: Unchecked) -> bool {
        self.0 & (1 << aspect as u8) != 0
    }

    /// Whether every aspect is unchecked.
    #[must_use]
    pub fn is_full(self) -> bool {
        self.iter().count() == Unchecked::ALL.len()
    }

    /// Whether nothing is unchecked.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Adds all of another set.
    pub fn extend(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// The members, in the order of output.
    pub fn iter(self) -> impl Iterator<Item = Unchecked> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let aspect = *Unchecked::ALL.get(rest.trailing_zeros() as usize)?;
            rest &= rest - 1;
            Some(aspect)
        })
    }
}

/// What a verdict comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Conclusion {
    /// Nothing at all was checked.
    Unjudged,
    /// Nothing found. What was not checked is listed beside it.
    Conforms,
    /// At least one gap, no violation.
    Gap,
    /// At least one violation.
    Violates,
}

impl Conclusion {
    /// What findings come to where these aspects were not checked.
    pub fn of<'a>(findings: impl Iterator<Item = &'a Finding>, unchecked: UncheckedSet) -> Self {
        let begin = if unchecked.is_full() { Self::Unjudged } else { Self::Conforms };
        findings.fold(begin, |worst, finding| {
            worst.max(match finding.kind() {
                Kind::Violation => Self::Violates,
                Kind::Gap => Self::Gap,
            })
        })
    }

    /// The word used in output: `conforms`, `gap`, `violates` or `unjudged`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Unjudged => "unjudged",
            Self::Conforms => "conforms",
            Self::Gap => "gap",
            Self::Violates => "violates",
        }
    }
}

/// Which side is at fault: the request documented or not × accepted by the tenant or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Blame {
    /// A violating request that the tenant refused: the client's bug, caught.
    Caught,
    /// A violating request that the tenant accepted: the tenant is laxer than its documentation.
    Laxer,
    /// A conforming request refused with 400: the tenant is stricter than its documentation.
    Stricter,
    /// Client and tenant agree about the request (the response may still break its own rules).
    Agreed,
}

impl Blame {
    /// Every one of them.
    pub const ALL: [Self; 4] = [Self::Caught, Self::Laxer, Self::Stricter, Self::Agreed];

    /// The word used in output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Caught => "caught",
            Self::Laxer => "laxer",
            Self::Stricter => "stricter",
            Self::Agreed => "agreed",
        }
    }

    /// The blame of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|blame| blame.name() == name)
    }
}

/// All that a check says about one exchange.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verdict {
    /// The documented operation's id, if there is one.
    pub operation: Option<Arc<str>>,
    /// In the order: request, authentication, response, relations, transport.
    pub findings: Vec<Finding>,
    /// What could not be checked.
    pub unchecked: UncheckedSet,
    /// Why; nothing of an aspect that the document does not show.
    pub reasons: Vec<Reason>,
    /// Which side is at fault; `None` where it is unknown (an undocumented request, no answer).
    pub blame: Option<Blame>,
}

impl Verdict {
    /// One of an exchange of which nothing was checked, for this reason.
    #[must_use]
    pub fn unjudged(reason: &'static str) -> Self {
        let mut verdict = Self::default();
        for aspect in Unchecked::ALL {
            verdict.leave(aspect, reason);
        }
        verdict
    }

    /// `violates` if there is a violation, else `gap` if there is a gap, else `conforms` if anything was checked.
    #[must_use]
    pub fn conclusion(&self) -> Conclusion {
        Conclusion::of(self.findings.iter(), self.unchecked)
    }

    /// Leaves all of an aspect unchecked, and says why.
    pub fn leave(&mut self, aspect: Unchecked, reason: &'static str) {
        self.unchecked.insert(aspect);
        self.reasons.push(Reason { aspect, at: String::new(), reason: reason.into() });
    }
}

/// Why authentication is unchecked where the producer of a file leaves out the header, as browsers do.
pub const NO_AUTHORIZATION: &str = "the file holds no Authorization header";

/// Why each of these aspects is unchecked: the reasons that were given of it, else that the document does not show it.
pub fn reasons_of(unchecked: UncheckedSet, given: &[Reason]) -> impl Iterator<Item = Cow<'_, Reason>> {
    unchecked.iter().flat_map(move |aspect| {
        let given = given.iter().filter(move |reason| reason.aspect == aspect).map(Cow::Borrowed);
        let mut given = given.peekable();
        let reason = Reason { aspect, at: String::new(), reason: aspect.not_shown().into() };
        let silent = given.peek().is_none().then_some(Cow::Owned(reason));
        given.chain(silent)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(seen: &str) -> String {
        Finding::new(Rule::RequestBody, "/a", "`x`").seen(seen).message()
    }

    #[test]
    fn a_message_shows_what_was_seen_readably_in_backticks_and_without_control_characters() {
        assert_eq!(message(r#"it's "so" \ ä😀"#), r#"expected `x`, saw `it's "so" \ ä😀`"#);
        assert_eq!(message("a\u{1b}[31m\n\u{202e}"), "expected `x`, saw `a\\u{1b}[31m\\n\\u{202e}`");
        assert_eq!(message(""), "expected `x`, saw an empty text");
        assert_eq!(message("z`, saw `x"), "expected `x`, saw `z\\u{60}, saw \\u{60}x`");
        assert_eq!(message(" 5"), "expected `x`, saw ` 5`");
        let pattern = Finding::new(Rule::RequestBody, "/a", "a text that matches `^\0\n$`").message();
        assert_eq!(pattern, "expected a text that matches `^\\u{0}\\n$`");
    }

    #[test]
    fn a_value_is_whole_up_to_200_characters_and_says_how_long_it_is_beyond() {
        assert_eq!(message(&"ä".repeat(200)), format!("expected `x`, saw `{}`", "ä".repeat(200)));
        assert_eq!(message(&"ä".repeat(201)), format!("expected `x`, saw `{}…` (201 characters)", "ä".repeat(200)));
    }

    #[test]
    fn a_list_is_whole_in_a_message_and_only_a_console_line_leaves_whole_items_out() {
        let scopes: Vec<String> = (1..=20).map(|number| format!("update:event_streams_{number}")).collect();
        let finding = Finding::new(Rule::AuthScope, "Authorization", "the scope `read:x`").seen(scopes.join(" "));
        let listed = |count: usize| format!("`{}`", scopes[..count].join("`, `"));
        assert_eq!(finding.message(), format!("expected the scope `read:x`, saw {}", listed(20)));
        assert_eq!(finding.short_message(), format!("expected the scope `read:x`, saw {} and 14 more", listed(6)));

        let values: Vec<String> = (0..9).map(|number| format!("`v{number}`")).collect();
        let finding = Finding::new(Rule::RequestBody, "/a", format!("one of {}", values.join(", "))).seen("else");
        assert_eq!(
            finding.short_message(),
            "expected one of `v0`, `v1`, `v2`, `v3`, `v4`, `v5` and 3 more, saw `else`"
        );
        let few = Finding::new(Rule::RequestBody, "/a", "one of `a`, `b`").seen("c");
        assert_eq!(few.short_message(), few.message());
    }
}
