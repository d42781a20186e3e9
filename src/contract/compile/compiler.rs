//! The compiler's state and its output.

use std::{collections::HashMap, fmt, sync::Arc};

use serde_json::Value;

use crate::contract::{ContractError, model::Model, route::Router, schema::Schemas, unusable::UnusablePlace};

/// All that a contract needs of its document.
#[derive(Debug)]
pub(in crate::contract) struct Compiled {
    pub(in crate::contract) model: Model,
    pub(in crate::contract) schemas: Arc<Schemas>,
    pub(in crate::contract) router: Router<RouteTarget>,
    /// Base paths of the document's servers, without a trailing slash.
    pub(in crate::contract) bases: Vec<String>,
    pub(in crate::contract) not_implemented: Vec<NotImplemented>,
    pub(in crate::contract) unusable: Vec<UnusablePlace>,
    /// Paths of the token endpoints that the OAuth 2.0 schemes name.
    pub(in crate::contract) token_paths: Vec<String>,
    /// Scopes that operations ask for and that no security scheme declares.
    pub(in crate::contract) undeclared_scopes: Vec<UndeclaredScope>,
}

/// What a route leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::contract) struct RouteTarget {
    /// Index into [`Model::operations`].
    pub(in crate::contract) operation: usize,
    /// See [`model::Matched::other_spelling`](crate::contract::model::Matched::other_spelling).
    pub(in crate::contract) other_spelling: bool,
}

/// Something that the document states and that contrail does not check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotImplemented {
    /// JSON pointer into the document.
    pub at: String,
    /// What it is, and what that means.
    pub what: String,
}

/// A scope in `security` that is not in the catalogue of its scheme.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::contract) struct UndeclaredScope {
    /// JSON pointer into the document.
    pub(in crate::contract) at: String,
    pub(in crate::contract) scope: String,
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
    pub(super) not_implemented: Vec<NotImplemented>,
    pub(super) unusable: Vec<UnusablePlace>,
    pub(super) undeclared_scopes: Vec<UndeclaredScope>,
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
        let unread = NotImplemented { at: at.to_owned(), what: what.to_owned() };
        if !self.not_implemented.contains(&unread) {
            self.not_implemented.push(unread);
        }
    }
}
