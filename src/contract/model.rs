//! What the check needs of a document, compiled: plain data that `compile` fills and `check` reads.
//!
//! No operation's id and no field's name is known to the check; whatever is special about an operation stands here.

use std::{fmt, sync::Arc};

use super::schema::Schema;
use crate::finding::UncheckedSet;

/// A document, compiled.
#[derive(Debug, Default)]
pub struct Model {
    /// The documented operations, in the order of the document.
    pub operations: Vec<Operation>,
    /// Media types of every message with a body that documents none of its own (`x-contrail-media-types` of the
    /// document: "requests and responses are JSON"); empty where the document says no such thing.
    pub(crate) media_types: Vec<Box<str>>,
    /// The declared catalogue of scopes; `None` where no security scheme declares any.
    pub scopes: Option<Catalogue>,
}

/// Declared scopes, each once.
#[derive(Debug)]
pub struct Catalogue(Vec<Box<str>>);

impl Catalogue {
    /// Whether a scope is declared.
    #[must_use]
    pub fn contains(&self, scope: &str) -> bool {
        self.0.binary_search_by(|held| (**held).cmp(scope)).is_ok()
    }

    /// The declared scopes.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|scope| &**scope)
    }
}

impl<'a> FromIterator<&'a str> for Catalogue {
    fn from_iter<I: IntoIterator<Item = &'a str>>(scopes: I) -> Self {
        let mut scopes: Vec<_> = scopes.into_iter().map(Box::from).collect();
        scopes.sort_unstable();
        scopes.dedup();
        Self(scopes)
    }
}

/// One documented operation.
#[derive(Debug)]
pub struct Operation {
    /// `operationId`, or method and path where the document has none.
    pub id: Arc<str>,
    /// The method, case-sensitive.
    pub method: http::Method,
    /// The path as the document writes it, without the base path.
    pub path: Box<str>,
    /// Path and query parameters, those of the path item included.
    pub parameters: Vec<Parameter>,
    /// What the document says of a request body.
    pub request_body: RequestBody,
    /// Documented responses.
    pub responses: Responses,
    /// What the operation asks of a caller.
    pub security: Security,
    /// Aspects that the document does not show and that come back as unchecked (`x-contrail-not-shown`).
    pub not_shown: UncheckedSet,
    /// Rules across request and response (`x-contrail-relations`).
    pub relations: Vec<Relation>,
    /// This is the token endpoint of the document's OAuth 2.0 scheme: never a violation, but gaps.
    pub token_endpoint: bool,
}

/// A path or query parameter.
#[derive(Debug)]
pub struct Parameter {
    /// Its name, case-sensitive.
    pub name: Arc<str>,
    /// Where it stands.
    pub place: Place,
    /// Whether a request without it breaks the contract.
    pub required: bool,
    /// For arrays: each item is a repeat of its own (`explode`), not one text with commas.
    pub explode: bool,
    /// For objects whose members have names of their own in the query.
    pub spread: Option<Spread>,
    /// What its value has to be; `None` where the document says nothing, or says it in a way that is not implemented.
    pub schema: Option<Schema>,
}

/// Which names of a query belong to a parameter that is an object. What they hold is not checked.
#[derive(Debug, Clone)]
pub enum Spread {
    /// `name[key]` (the style `deepObject`).
    Brackets,
    /// These documented keys, as names of their own (the style `form`, exploded).
    Keys(Box<[Box<str>]>),
}

impl Parameter {
    /// Whether this name of a query is a member of the object that the parameter is.
    pub(super) fn spreads_to(&self, name: &str) -> bool {
        match &self.spread {
            None => false,
            Some(Spread::Brackets) => name.strip_prefix(&*self.name).is_some_and(|rest| rest.starts_with('[')),
            Some(Spread::Keys(keys)) => keys.iter().any(|key| **key == *name),
        }
    }
}

/// Where a parameter stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In the path.
    Path,
    /// In the query.
    Query,
}

/// What the document says of a request body.
#[derive(Debug, Default)]
pub enum RequestBody {
    /// There is none.
    #[default]
    None,
    /// Nothing, not even that there is none.
    NotShown,
    /// It has one of these media types.
    Documented {
        /// Media types with their schemas.
        content: Vec<Content>,
        /// Whether a request without a body breaks the contract.
        required: bool,
    },
}

/// A documented media type.
#[derive(Debug)]
pub struct Content {
    /// Type and subtype, lower case, without parameters; `*` stands for anything (`text/*`, `*/*`).
    pub(crate) media_type: Box<str>,
    /// What the body has to be; `None` where the document does not say, or says it in a way that is not implemented.
    pub schema: Option<Schema>,
}

/// Documented responses of an operation.
#[derive(Debug, Default)]
pub struct Responses {
    /// By status or class of statuses, in the order of the document.
    pub listed: Vec<(Status, Response)>,
    /// For every other status.
    pub default: Option<Response>,
}

/// A status, or a class of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// `404`
    Exactly(u16),
    /// `4XX`, by its first digit.
    Class(u16),
}

/// A documented response.
#[derive(Debug, Default)]
pub struct Response {
    /// Media types with their schemas; empty where none is documented.
    pub content: Vec<Content>,
    /// Names, as written, of the headers that it always carries.
    pub headers: Vec<Box<str>>,
    /// It says that the token lacks the required scope (`x-contrail-means: scope-missing`).
    pub scope_missing: bool,
}

/// What an operation asks of a caller.
#[derive(Debug, Default)]
pub struct Security {
    /// Whether it takes a bearer token at all.
    pub required: bool,
    /// Alternatives; holding all scopes of one is enough. Empty where the document shows no required scope, or shows that
    /// none is needed.
    pub scopes: Vec<Vec<Box<str>>>,
    /// Whether the document says that the token is a JWT (`bearerFormat: JWT`, `x-contrail-token: jwt`).
    pub jwt: bool,
}

/// A rule across request and response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Relation {
    /// The response is about the resource that the path names.
    Identity {
        /// The path parameter.
        parameter: Box<str>,
        /// Pointer into the response body to the same id.
        response: Box<str>,
    },
    /// A page holds no more items than were asked for.
    PageSize {
        /// The query parameter with the number.
        parameter: Box<str>,
        /// What holds where it is not given.
        default: Option<u64>,
        /// Pointer into the response body to the array.
        response: Box<str>,
    },
    /// What was sent comes back as it was sent.
    Echo {
        /// Pointers, the same in both bodies.
        fields: Vec<Box<str>>,
    },
}

/// An exchange's operation.
#[derive(Debug)]
pub struct Matched<'m, 'e> {
    /// The operation.
    pub operation: &'m Operation,
    /// Raw (percent-encoded) values of its path parameters.
    pub raw: Vec<(&'m str, &'e str)>,
    /// The path is a known other spelling of the documented one (`/oauth/token`), which is a gap.
    pub other_spelling: bool,
}

impl Status {
    /// Whether it is a success, or the class of successes.
    #[must_use]
    pub fn is_success(self) -> bool {
        matches!(self, Self::Exactly(200..300) | Self::Class(2))
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exactly(status) => write!(f, "{status}"),
            Self::Class(class) => write!(f, "{class}XX"),
        }
    }
}

impl Responses {
    /// The response documented for a status: its own, its class's, or the default.
    #[must_use]
    pub fn find(&self, status: u16) -> Option<&Response> {
        let listed = |wanted| self.listed.iter().find(|(held, _)| *held == wanted).map(|(_, response)| response);
        listed(Status::Exactly(status)).or_else(|| listed(Status::Class(status / 100))).or(self.default.as_ref())
    }

    /// The first documented success.
    #[must_use]
    pub fn success(&self) -> Option<&Response> {
        self.listed.iter().find(|(status, _)| status.is_success()).map(|(_, response)| response)
    }
}
