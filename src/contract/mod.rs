//! The contract: an OpenAPI 3.1 document, compiled once, and the check of an exchange against it.
//!
//! `document` (read, overlay) → `refs` → `compile` ([`Contract`]) → `route`, `schema`, `params` → `check`.
//! The check is pure: `(&Contract, &Exchange, &CheckOptions) -> Verdict`. It never sees a socket or a file.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, OnceLock},
    time::Duration,
};

use serde_json::Value;

use crate::{
    exchange::Exchange,
    finding::{Rule, Verdict},
    hex::hex,
    json,
};

pub mod check;
mod compile;
mod document;
mod error;
pub mod model;
pub mod outline;
mod overlay;
mod params;
mod refs;
mod route;
pub mod schema;
mod upgrade;
mod yaml;

pub use compile::NotImplemented;
pub use error::ContractError;
use overlay::Slip;
pub use schema::UnusablePlace;

/// The built-in contract's text.
const BUILT_IN: &str = include_str!("../../contracts/tenant-management.yaml");
/// The name of the built-in contract in messages.
const BUILT_IN_NAME: &str = "contracts/tenant-management.yaml";

/// A compiled contract. The built-in one, in which nothing can be wrong, is compiled when it is first asked something.
#[derive(Debug)]
pub struct Contract {
    made: OnceLock<Made>,
    /// Made when it is first asked for.
    hash: OnceLock<String>,
    slips: Vec<Slip>,
}

/// What is made of a document.
#[derive(Debug)]
struct Made {
    document: Arc<Value>,
    title: String,
    version: String,
    compiled: compile::Compiled,
}

/// Which parts of an exchange are judged, and how.
#[derive(Debug, Clone)]
#[allow(clippy::struct_excessive_bools)]
pub struct CheckOptions {
    /// Judge the request (parameters, body, content type).
    pub request: bool,
    /// Judge the response, the relations between both messages, and the transport.
    pub response: bool,
    /// Judge authentication; otherwise `auth` is unchecked and no `auth.*` rule fires.
    pub auth: bool,
    /// Tolerance for `exp` and `nbf`.
    pub clock_skew: Duration,
    /// Deepest nesting of JSON that is judged; deeper bodies are unchecked.
    pub max_depth: usize,
    /// Origins besides the request's own that count as the tenant's in an audience (`https://tenant.example`, the
    /// upstream's).
    pub tenant_origins: Vec<String>,
}

impl Default for CheckOptions {
    fn default() -> Self {
        Self {
            request: true,
            response: true,
            auth: true,
            clock_skew: Duration::ZERO,
            max_depth: json::MAX_DEPTH,
            tenant_origins: Vec::new(),
        }
    }
}

impl Contract {
    /// The built-in tenant contract (`contracts/tenant-management.yaml`), one per process.
    #[must_use]
    pub fn built_in() -> Arc<Self> {
        static CONTRACT: LazyLock<Arc<Contract>> =
            LazyLock::new(|| Arc::new(Contract { made: OnceLock::new(), hash: OnceLock::new(), slips: Vec::new() }));
        Arc::clone(&CONTRACT)
    }

    /// Reads a document (`None`: the built-in one), applies the overlays in order, and compiles it.
    ///
    /// # Errors
    ///
    /// [`ContractError`] names the file and the place in it.
    pub fn load(document: Option<&Path>, overlays: &[PathBuf]) -> Result<Arc<Self>, ContractError> {
        Self::load_with(document, overlays).map(Arc::new)
    }

    fn load_with(file: Option<&Path>, overlays: &[PathBuf]) -> Result<Self, ContractError> {
        let mut document = match file {
            None => built_in_document()?,
            Some(file) => document::read(file)?,
        };
        let mut slips = Vec::new();
        for overlay in overlays {
            slips.extend(overlay::apply(overlay, &mut document)?);
        }
        let contract = Self::from_document(document).map_err(|error| match file {
            Some(file) => ContractError::In { file: file.to_owned(), error: Box::new(error) },
            None => error,
        })?;
        Ok(Self { slips, ..contract })
    }

    /// Compiles a document that is there as a value, of OpenAPI 3.1 or 3.0.
    ///
    /// # Errors
    ///
    /// [`ContractError`] names the place in it.
    pub fn from_document(document: Value) -> Result<Self, ContractError> {
        let made = Made::of(document)?;
        Ok(Self { made: made.into(), hash: OnceLock::new(), slips: Vec::new() })
    }

    fn made(&self) -> &Made {
        // Any other was made when it was loaded.
        self.made.get_or_init(Made::built_in)
    }

    /// The effective document: upgraded to 3.1, overlays applied.
    #[must_use]
    pub fn document(&self) -> &Value {
        &self.made().document
    }

    /// The effective document as YAML that reads back as the same value.
    #[must_use]
    pub fn to_yaml(&self) -> String {
        yaml::write(self.document())
    }

    /// SHA-256 of the effective document, as 64 hex digits; attested findings carry it.
    #[must_use]
    pub fn hash(&self) -> &str {
        self.hash.get_or_init(|| {
            let digest = ring::digest::digest(&ring::digest::SHA256, self.document().to_string().as_bytes());
            hex(digest.as_ref())
        })
    }

    /// `info.title`.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.made().title
    }

    /// `info.version`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.made().version
    }

    /// What the check reads.
    #[must_use]
    pub fn model(&self) -> &model::Model {
        &self.made().compiled.model
    }

    /// What the document says and contrail does not check.
    #[must_use]
    pub fn not_implemented(&self) -> &[NotImplemented] {
        &self.made().compiled.not_implemented
    }

    /// Compiles the schemas now and not with the first value to judge.
    pub fn prepare(&self) {
        self.made().compiled.schemas.prepare();
    }

    /// Places of the document that contrail cannot judge by: what they would restrict is unchecked.
    pub fn unusable_places(&self) -> impl Iterator<Item = &UnusablePlace> {
        let compiled = &self.made().compiled;
        let schemas = compiled.schemas.unusable().iter().filter(|place| !compiled.unusable.contains(place));
        compiled.unusable.iter().chain(schemas)
    }

    /// What is allowed and mostly a slip, one line each: actions of overlays that changed nothing, keys that overlays do
    /// not have, and scopes that no security scheme declares.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let overlays = self.slips.iter().map(ToString::to_string);
        overlays.chain(self.made().compiled.undeclared_scopes.iter().map(ToString::to_string)).collect()
    }

    /// Base paths of the document's servers, without a trailing slash.
    #[must_use]
    pub fn base_paths(&self) -> &[String] {
        &self.made().compiled.bases
    }

    /// Checks one exchange.
    #[must_use]
    pub fn check(&self, exchange: &Exchange, options: &CheckOptions) -> Verdict {
        let path = exchange.request.target.path();
        let matched = self.find(exchange.request.method.as_str(), path);
        let methods = if matched.is_none() { self.made().compiled.router.methods(path) } else { Vec::new() };
        let mut verdict = check::check(self.model(), matched.as_ref(), &methods, exchange, options);
        if matched.is_none() && !self.covers(path) {
            // Another site in a browser's export, where requests fail every day: counted, not blamed.
            verdict.findings.retain(|finding| finding.rule == Rule::OperationUndocumented);
        }
        verdict
    }

    /// The documented operation that has this method and raw path, if there is one.
    #[must_use]
    pub fn find<'m, 'e>(&'m self, method: &str, path: &'e str) -> Option<model::Matched<'m, 'e>> {
        let Made { compiled, .. } = self.made();
        let route = compiled.router.find(method, path)?;
        Some(model::Matched {
            operation: compiled.model.operations.get(route.to.operation)?,
            raw: route.raw,
            other_spelling: route.to.other_spelling,
        })
    }

    /// The id of the documented operation that has this method and raw path, if there is one.
    #[must_use]
    pub fn operation_id(&self, method: &str, path: &str) -> Option<Arc<str>> {
        self.find(method, path).map(|matched| Arc::clone(&matched.operation.id))
    }

    /// Whether a raw path is the contract's business: under a server's base path (itself, or followed by a slash), or a
    /// documented operation's outside of it (the token endpoint). What is not is another site in a browser's export.
    #[must_use]
    pub fn covers(&self, path: &str) -> bool {
        let under =
            |base: &String| path.strip_prefix(&**base).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let Made { compiled, .. } = self.made();
        compiled.bases.iter().any(under) || compiled.router.knows(path)
    }
}

impl Made {
    /// # Panics
    ///
    /// Never: a test compiles the embedded document.
    fn built_in() -> Self {
        let made = built_in_document().and_then(Self::of);
        made.expect("a test compiles the embedded document")
    }

    fn of(mut document: Value) -> Result<Self, ContractError> {
        upgrade::upgrade(&mut document)?;
        refs::resolve_anchors(&mut document);
        let document = Arc::new(document);
        let compiled = compile::compile(&document);
        let info = |key: &str| match document.pointer("/info").and_then(|info| info.get(key)) {
            Some(Value::String(text)) => text.clone(),
            // `version: 2.0` without quotes is a number in YAML.
            Some(Value::Number(number)) => number.to_string(),
            _ => String::new(),
        };
        let (title, version) = (info("title"), info("version"));
        Ok(Self { document, title, version, compiled })
    }
}

fn built_in_document() -> Result<Value, ContractError> {
    document::parse(BUILT_IN, Path::new(BUILT_IN_NAME))
}
