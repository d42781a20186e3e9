//! The compiler's state and its output.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    sync::Arc,
};

use serde_json::Value;

use super::keys::Keys;
use crate::{
    ContractError,
    model::{Content, Header, Model, Parameter, Security},
    route::{Group, Router},
    schema::Schemas,
    unusable::UnusablePlace,
};

/// All that a contract needs of its document.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) model: Model,
    pub(crate) schemas: Arc<Schemas>,
    pub(crate) router: Router<RouteTarget>,
    /// Base paths of the document's servers, without a trailing slash.
    pub(crate) bases: Vec<String>,
    pub(crate) not_implemented: Vec<NotImplemented>,
    pub(crate) unusable: Vec<UnusablePlace>,
    /// Paths of the token endpoints that the OAuth 2.0 schemes name.
    pub(crate) token_paths: Vec<String>,
    /// Scopes that operations ask for and that no security scheme declares.
    pub(crate) undeclared_scopes: Vec<UndeclaredScope>,
}

/// What a route leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RouteTarget {
    /// Index into [`Model::operations`].
    pub(crate) operation: usize,
    /// See [`model::Matched::other_spelling`](crate::model::Matched::other_spelling).
    pub(crate) other_spelling: bool,
}

/// Something that the document states and that contrail does not check.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NotImplemented {
    /// JSON pointer into the document.
    pub at: String,
    /// What it is, and what that means.
    pub what: String,
}

/// A scope in `security` that is not in the catalogue of its scheme.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct UndeclaredScope {
    /// JSON pointer into the document.
    pub(crate) at: String,
    pub(crate) scope: String,
}

impl fmt::Display for UndeclaredScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (at, scope) = (&self.at, self.scope.escape_debug());
        write!(f, "`{at}` asks for the scope `{scope}`, which the security scheme does not declare")
    }
}

/// One compilation on its way.
pub(super) struct Compiler<'d> {
    pub(super) document: &'d Value,
    pub(super) schemas: Arc<Schemas>,
    pub(super) router: Router<RouteTarget>,
    /// The first operation of each id, by its place in the model.
    pub(super) by_id: HashMap<Arc<str>, usize>,
    pub(super) token_paths: Vec<String>,
    /// Templates of a group that are token endpoints.
    pub(super) token_templates: HashMap<Group, HashSet<String>>,
    /// Of the parameters that all operations may have together.
    pub(super) parameters_left: usize,
    pub(super) shared: Shared,
    pub(super) not_implemented: Vec<NotImplemented>,
    pub(super) unusable: Vec<UnusablePlace>,
    pub(super) undeclared_scopes: Vec<UndeclaredScope>,
}

/// What several operations may refer to or inherit, compiled once, by its place in the document.
#[derive(Default)]
pub(super) struct Shared {
    /// The keys that a schema names for a parameter.
    pub(super) keys: HashMap<String, Arc<Keys>>,
    /// The first operation of a place, by its index: a path item may be that of several paths.
    pub(super) operations: HashMap<String, usize>,
    /// By the place that may have `servers`.
    pub(super) groups: HashMap<String, Option<Group>>,
    pub(super) security: HashMap<String, Arc<Security>>,
    pub(super) parameters: HashMap<String, Option<Arc<Parameter>>>,
    /// Of a request body or a response.
    pub(super) content: HashMap<String, Arc<[Content]>>,
    pub(super) headers: HashMap<String, Arc<[Header]>>,
}

impl Compiler<'_> {
    /// Gives what is usable, and lists what is not.
    pub(super) fn usable<T>(&mut self, result: Result<T, ContractError>) -> Option<T> {
        match result {
            Ok(usable) => Some(usable),
            Err(error) => {
                self.unusable.extend(error.place());
                None
            }
        }
    }

    pub(super) fn unusable(&mut self, at: &str, reason: impl Into<String>) {
        self.unusable.push(UnusablePlace { at: at.to_owned(), reason: reason.into() });
    }

    pub(super) fn not_implemented(&mut self, at: &str, what: &str) {
        self.not_implemented.push(NotImplemented { at: at.to_owned(), what: what.to_owned() });
    }
}
