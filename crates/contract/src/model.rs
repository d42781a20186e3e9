//! A compiled document: plain data that `compile` fills and `check` reads.
//!
//! No operation's id and no field's name is known to the check; whatever is special about an operation stands here.

use std::{borrow::Cow, fmt, sync::Arc};

use contrail_exchange::{
    finding::{Unchecked, UncheckedSet},
    json::pointer_tokens,
};
use serde_json::Value;

use super::{
    media_type::MediaRange,
    params::{Style, is_bracketed},
    refs,
    schema::Schema,
};

/// A document, compiled.
#[derive(Debug, Default)]
pub struct Model {
    /// The documented operations, in the order of the document.
    pub operations: Vec<Operation>,
    /// Media types of every message with a body that documents none of its own (`x-contrail-media-types` of the
    /// document: "requests and responses are JSON"); empty where the document states no such thing.
    pub media_types: Vec<MediaRange>,
    /// A field of a form never comes twice, whatever it is (`x-contrail-repeated-fields: none`).
    pub no_repeated_fields: bool,
    /// The document shows the body of an error of some operation.
    pub error_bodies: bool,
    /// The declared catalogue of scopes; `None` where no security scheme declares any.
    pub scopes: Option<Catalogue>,
}

impl Model {
    /// Whether it takes every `+json` type of a response for `application/json`.
    pub fn takes_suffixes(&self) -> bool {
        !self.media_types.is_empty()
    }
}

/// Declared scopes, each once.
#[derive(Debug)]
pub struct Catalogue(Vec<Box<str>>);

impl Catalogue {
    /// The scopes that are not declared. A token's come sorted: the one after the last declared one is compared first.
    pub fn undeclared<'s>(&self, scopes: &'s [String]) -> impl Iterator<Item = &'s String> {
        let mut next = 0;
        scopes.iter().filter(move |scope| {
            let is_next = self.0.get(next).is_some_and(|held| **held == ***scope);
            let found = if is_next { Ok(next) } else { self.0.binary_search_by(|held| (**held).cmp(scope)) };
            next = found.map_or(next, |at| at + 1);
            found.is_err()
        })
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
#[derive(Debug, Clone)]
pub struct Operation {
    /// `operationId`, or method and path where the document has none.
    pub id: Arc<str>,
    /// JSON pointer of the operation in its document.
    pub at: Box<str>,
    /// The method, case-sensitive.
    pub method: http::Method,
    /// The path as the document writes it, without the base path.
    pub path: Box<str>,
    /// Its parameters, those of the path item included.
    pub parameters: Arc<[Arc<Parameter>]>,
    /// What the document states about a request body.
    pub request_body: RequestBody,
    /// Documented responses.
    pub responses: Arc<Responses>,
    /// What the operation asks of a caller.
    pub security: Arc<Security>,
    /// Aspects that the document does not show and that come back as unchecked (`x-contrail-not-shown`).
    pub not_shown: UncheckedSet,
    /// Rules across request and response (`x-contrail-relations`).
    pub relations: Arc<[Relation]>,
    /// This is the token endpoint of the document's OAuth 2.0 scheme.
    pub token_endpoint: bool,
}

impl Operation {
    /// Whether it is a token endpoint of whose responses the document shows no body: never a violation, but gaps.
    pub fn is_bare_token_endpoint(&self) -> bool {
        let mut responses = self.responses.listed.iter().map(|(_, response)| response).chain(&self.responses.default);
        self.token_endpoint && responses.all(|response| response.content.is_empty())
    }
}

/// A parameter.
#[derive(Debug)]
pub struct Parameter {
    /// Its name, case-sensitive but in a header.
    pub name: Arc<str>,
    /// Where it stands.
    pub place: ParameterIn,
    /// Whether a request without it breaks the contract.
    pub required: bool,
    /// Whether it is unknown what a request without it does, because the place that states it is unusable.
    pub unclear: bool,
    /// Whether an empty value is taken for none (`allowEmptyValue`).
    pub allow_empty: bool,
    /// How it is written.
    pub notation: Notation,
    /// For objects whose members have names of their own.
    pub object_style: Option<ObjectStyle>,
    /// What its value has to be.
    pub definition: Definition,
}

/// How arrays and objects are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notation {
    /// The style, by the name that the document gives it.
    pub style: Style,
    /// Items and members come one by one, not as one text with separators.
    pub explode: bool,
    /// Reserved characters are not percent-encoded (`allowReserved`).
    pub allow_reserved: bool,
}

/// What the document states about the value of a parameter or of a header.
#[derive(Debug)]
pub enum Definition {
    /// Nothing.
    Nothing,
    /// It conforms to a schema.
    Schema(Schema),
    /// It is JSON text (`content`).
    Json(Option<Schema>),
    /// It is a form (`content`).
    Form(Box<Content>),
    /// It is text (`content`).
    Text(Option<Schema>),
    /// Something that contrail does not read, so that it is unchecked.
    NotRead,
}

/// Which names belong to a parameter that is an object.
#[derive(Debug, Clone)]
pub enum ObjectStyle {
    /// `name[key]` (the style `deepObject`).
    Brackets,
    /// The keys of the object, as names of their own (the style `form`, exploded).
    Keys {
        /// Those that the document names.
        named: Arc<[Box<str>]>,
        /// There may be others, so that any name that nothing else claims is one.
        open: bool,
    },
}

impl Parameter {
    /// Whether this name is a member of the object that the parameter is.
    #[inline]
    pub(super) fn spreads_to(&self, name: &str) -> bool {
        match &self.object_style {
            None => false,
            Some(ObjectStyle::Brackets) => is_bracketed(&self.name, name),
            Some(ObjectStyle::Keys { named, .. }) => named.iter().any(|key| **key == *name),
        }
    }

    /// Whether a field of this name is the parameter: the members of an exploded object have names of their own alone.
    #[inline]
    pub(super) fn is_named(&self, name: &str) -> bool {
        *self.name == *name && !matches!(self.object_style, Some(ObjectStyle::Keys { .. }))
    }

    /// The name of the field that the member at a JSON pointer is written as.
    pub(super) fn field(&self, at: &str) -> Option<String> {
        let mut keys = pointer_tokens(at);
        match &self.object_style {
            Some(ObjectStyle::Keys { .. }) => keys.next().map(Cow::into_owned),
            _ => Some(keys.fold(self.name.to_string(), |name, key| format!("{name}[{key}]"))),
        }
    }

    /// What stands between the items of a list; `None` where each is a text of its own.
    pub fn separator(&self) -> Option<char> {
        let Notation { style, explode, .. } = self.notation;
        let several = explode && !matches!(self.place, ParameterIn::Path | ParameterIn::Header);
        (!several).then(|| style.separator())
    }

    /// Whether any name that nothing else claims is a member of the object that the parameter is.
    pub(super) fn takes_any(&self) -> bool {
        matches!(self.object_style, Some(ObjectStyle::Keys { open: true, .. }))
    }
}

/// Where a parameter stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterIn {
    /// In the path.
    Path,
    /// In the query.
    Query,
    /// It is the whole query (`in: querystring`, OpenAPI 3.2).
    QueryString,
    /// In a header.
    Header,
    /// In a cookie.
    Cookie,
}

/// What the document states about a request body.
#[derive(Debug, Clone, Default)]
pub enum RequestBody {
    /// There is none.
    #[default]
    None,
    /// Nothing, not even that there is none.
    NotShown,
    /// It has one of these media types.
    Documented {
        /// Media types with their schemas.
        content: Arc<[Content]>,
        /// Whether a request without a body breaks the contract.
        required: bool,
    },
}

/// A documented media type.
#[derive(Debug)]
pub struct Content {
    /// The media types that it is for.
    pub range: MediaRange,
    /// What the body has to be; `None` where the document is silent, or uses a construct that is not implemented.
    pub schema: Option<Schema>,
    /// What each item of a sequence has to be (`itemSchema`, OpenAPI 3.2).
    pub item: Option<Schema>,
    /// How the fields of a form are written, sorted by field.
    pub encodings: Box<[Encoding]>,
    /// The place that documents it is unusable, or uses a construct without which no body can be judged.
    pub unusable: bool,
    /// The document states more of a body than contrail judges.
    pub partial: bool,
    /// Whether the schema accepts any body of a media type that contrail does not parse.
    pub raw: Raw,
    /// What a body of no bytes is to the schema of a media type that contrail does not read.
    pub empty: Empty,
}

/// Which bodies a schema accepts of a media type that contrail does not parse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Raw {
    /// Any octets conform: a file.
    Octets,
    /// It is of a string, so that text of any media type is held to it, not only plain text.
    String,
    /// Neither of these.
    Other,
}

/// What the document states about a body of no bytes, the mildest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Empty {
    /// Nothing forbids it.
    Conforms,
    /// It depends on how the media type writes the value.
    Unclear,
    /// The schema forbids it.
    Violates,
}

impl Content {
    /// Of any media type, where the place that documents it is unusable.
    pub fn unusable() -> Self {
        Self {
            range: MediaRange::any(),
            schema: None,
            item: None,
            encodings: Box::default(),
            unusable: true,
            partial: false,
            raw: Raw::Other,
            empty: Empty::Conforms,
        }
    }

    /// Whether it states nothing of a body but its media type.
    pub fn is_silent(&self) -> bool {
        self.schema.is_none() && self.item.is_none()
    }
}

/// How a field of a form is written.
#[derive(Debug)]
pub struct Encoding {
    /// The field's name.
    pub field: Box<str>,
    /// As a parameter of this style; `None` where the document names none.
    pub style: Option<Style>,
    /// See [`Notation::explode`].
    pub explode: bool,
    /// Media types of a part of a multipart body; empty where the document names none.
    pub content_types: Box<[MediaRange]>,
}

impl Encoding {
    /// The style of a field that holds all items or members as one text.
    pub fn delimited(&self) -> Option<Style> {
        self.style.filter(|style| !self.explode && *style != Style::DeepObject)
    }
}

/// Documented responses of an operation.
#[derive(Debug, Default)]
pub struct Responses {
    /// By status or class of statuses, in the order of the document.
    pub listed: Vec<(Status, Response)>,
    /// For every other status.
    pub default: Option<Response>,
}

/// The keys under which a document may have the response to a status, nearest first: its own, its class's, the default.
#[must_use]
pub fn response_keys(status: u16) -> [String; 4] {
    let class = status / 100;
    [status.to_string(), format!("{class}XX"), format!("{class}xx"), "default".to_owned()]
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
    pub content: Arc<[Content]>,
    /// Its documented headers.
    pub headers: Arc<[Header]>,
    /// It says that the token lacks the required scope (`x-contrail-means: scope-missing`).
    pub scope_missing: bool,
    /// Aspects that it shows though its operation lists them as not shown (`x-contrail-shown`).
    pub shown: UncheckedSet,
}

/// A documented header of a response.
#[derive(Debug)]
pub struct Header {
    /// Its name, as written.
    pub name: Box<str>,
    /// Whether a response without it breaks the contract.
    pub required: bool,
    /// Whether it is unknown what a response without it does, because the place that states it is unusable.
    pub unclear: bool,
    /// How it is written.
    pub notation: Notation,
    /// What its value has to be.
    pub definition: Definition,
}

impl Header {
    /// One whose place is unusable.
    pub fn unusable(name: &str) -> Self {
        let notation = Notation { style: Style::Simple, explode: false, allow_reserved: false };
        Self { name: name.into(), required: false, unclear: true, notation, definition: Definition::NotRead }
    }
}

/// What an operation asks of a caller.
#[derive(Debug, Default)]
pub struct Security {
    /// Whether every alternative takes a bearer token.
    pub required: bool,
    /// Alternatives; holding all scopes of one is enough. Empty where the document shows no required scope, or shows
    /// that none is needed.
    pub scopes: Vec<Vec<Box<str>>>,
    /// The alternatives, in the order of the document; a request has to satisfy one. Empty where nothing is needed.
    pub alternatives: Vec<Alternative>,
}

/// Credentials that belong together; none in the alternative that is open to anybody.
#[derive(Debug, Default)]
pub struct Alternative {
    /// A bearer token.
    pub bearer: Option<Bearer>,
    /// What else it takes.
    pub others: Vec<Scheme>,
}

/// A bearer token that an operation takes.
#[derive(Debug, Default)]
pub struct Bearer {
    /// The document states that it is a JWT (`bearerFormat: JWT`, `x-contrail-token: jwt`).
    pub jwt: bool,
    /// Scopes that it has to carry.
    pub scopes: Vec<Box<str>>,
}

/// A credential that is no bearer token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scheme {
    /// An `Authorization` header of this scheme.
    Http(Box<str>),
    /// An API key in a header, a query parameter or a cookie.
    ApiKey {
        /// Where it stands.
        place: ParameterIn,
        /// The name there.
        name: Box<str>,
    },
    /// Something that no message shows (mutual TLS).
    Unseen(Box<str>),
}

impl Operation {
    /// JSON pointers of the lists of its parameters: its own, and its path item's.
    pub fn parameter_lists(&self) -> [String; 2] {
        let item = self.at.rsplit_once('/').map_or("", |(item, _)| item);
        let item = item.strip_suffix("/additionalOperations").unwrap_or(item);
        [&*self.at, item].map(|holder| refs::below(holder, &["parameters"]))
    }

    /// JSON pointers of the entries of those lists.
    pub fn listed_parameters(&self, document: &Value) -> impl Iterator<Item = String> {
        self.parameter_lists().into_iter().flat_map(|list| {
            let count = refs::at(document, &list).and_then(Value::as_array).map_or(0, Vec::len);
            (0..count).map(move |index| format!("{list}/{index}"))
        })
    }

    /// What these entries are, references followed, each with its JSON pointer.
    pub fn followed_parameters<'d>(&self, document: &'d Value) -> impl Iterator<Item = (String, &'d Value)> {
        self.listed_parameters(document).filter_map(|at| refs::follow(document, &at, refs::at(document, &at)?).ok())
    }

    /// Whether the document states that every bearer token it takes is a JWT.
    pub fn takes_jwt(&self) -> bool {
        self.security.alternatives.iter().filter_map(|one| one.bearer.as_ref()).all(|bearer| bearer.jwt)
    }
}

impl Security {
    /// Whether bearer tokens are all that it takes.
    pub fn is_bearer_only(&self) -> bool {
        self.alternatives.iter().all(|one| one.bearer.is_some() && one.others.is_empty())
    }

    /// Whether a name of the query is that of an API key.
    pub fn names_in_query(&self, field: &str) -> bool {
        let is_key =
            |scheme: &Scheme| matches!(scheme, Scheme::ApiKey { place: ParameterIn::Query, name } if **name == *field);
        self.alternatives.iter().any(|one| one.others.iter().any(is_key))
    }
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

impl ParameterIn {
    /// The word in a document.
    pub fn name(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Query => "query",
            Self::QueryString => "querystring",
            Self::Header => "header",
            Self::Cookie => "cookie",
        }
    }
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

    /// Whether the body of any response but a success is documented.
    pub fn show_error_bodies(&self) -> bool {
        // What recorded traffic shows of one body is no statement about all others.
        let errors = self.listed.iter().filter(|(status, _)| !status.is_success()).map(|(_, response)| response);
        let errors = errors.filter(|response| !response.shown.contains(Unchecked::ErrorBody));
        errors.chain(&self.default).any(|response| !response.content.is_empty())
    }

    /// The first documented success.
    #[must_use]
    pub fn success(&self) -> Option<&Response> {
        self.listed.iter().find(|(status, _)| status.is_success()).map(|(_, response)| response)
    }
}
