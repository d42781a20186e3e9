//! The contract: one or more OpenAPI documents, each compiled once, and the check of an exchange against them.
//!
//! `document` (read, overlay) → `refs` → `compile` ([`Contract`]) → `route`, `schema`, `params` → `check`.
//! The check is pure: `(&Contract, &Exchange, &CheckOptions) -> Verdict`. It never sees a socket or a file.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, OnceLock},
    time::Duration,
};

use serde_json::Value;

use crate::{
    exchange::{Exchange, is_at_or_below},
    finding::{Rule, Verdict},
    hex::hex,
    json,
};

pub mod check;
pub mod compare;
mod compile;
mod document;
mod error;
pub(crate) mod examples;
mod files;
mod media_type;
pub mod model;
pub mod outline;
mod overlay;
mod params;
pub(crate) mod refs;
mod route;
pub mod schema;
mod stated;
mod tenant;
mod union;
mod unusable;
mod upgrade;
mod yaml;

pub use compile::NotImplemented;
pub use error::ContractError;
pub(crate) use media_type::MediaRange;
pub use model::Operation;
use overlay::Slip;
pub(crate) use refs::{below, follow, reference};
pub use unusable::UnusablePlace;
pub(crate) use yaml::write as yaml_text;

/// The built-in contract's text.
const BUILT_IN_TEXT: &str = include_str!("../../contracts/tenant-management.yaml");
/// The name of the built-in contract, in place of a file's.
pub const BUILT_IN: &str = "built-in";

/// A compiled contract: the first of its documents that has an exchange's operation judges the exchange.
#[derive(Debug)]
pub struct Contract {
    /// At least one. The built-in document alone is compiled at its first use, because nothing in it can be wrong.
    documents: OnceLock<Vec<ContractDocument>>,
    /// Computed at its first use.
    hash: OnceLock<String>,
    /// The union of several documents, built at its first use.
    union: OnceLock<Value>,
    slips: Vec<Slip>,
}

/// One document of a contract, compiled.
#[derive(Debug)]
pub struct ContractDocument {
    /// [`BUILT_IN`], or the file as it was named.
    name: String,
    document: Arc<Value>,
    title: String,
    version: String,
    compiled: compile::Compiled,
    /// Computed at its first use.
    hash: OnceLock<String>,
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
    /// Keys for signatures are given: a token whose signature was not checked leaves `auth` unchecked.
    pub signatures: bool,
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
            signatures: false,
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
            LazyLock::new(|| Arc::new(Contract::new(OnceLock::new(), Vec::new())));
        Arc::clone(&CONTRACT)
    }

    /// Reads documents in order ([`BUILT_IN`] names the built-in one; it is also the default), applies the overlays in
    /// order to each, and compiles them.
    ///
    /// # Errors
    ///
    /// [`ContractError`] names the file and the place in it.
    pub fn load(files: &[PathBuf], overlays: &[PathBuf]) -> Result<Arc<Self>, ContractError> {
        let built_in = [PathBuf::from(BUILT_IN)];
        let files = if files.is_empty() { &built_in } else { files };
        let mut documents = Vec::new();
        // A slip is one where it is one in every document: an action may be for one of them.
        let mut slips: Option<Vec<Slip>> = None;
        for file in files {
            let (document, own) = ContractDocument::load(file, overlays)?;
            documents.push(document);
            slips = Some(match slips {
                None => own,
                Some(held) => held.into_iter().filter(|slip| own.contains(slip)).collect(),
            });
        }
        Ok(Arc::new(Self::new(documents.into(), slips.unwrap_or_default())))
    }

    /// Compiles a document of OpenAPI 3.0, 3.1 or 3.2 that is a value already.
    ///
    /// # Errors
    ///
    /// [`ContractError`] names the place in it.
    pub fn from_document(document: Value) -> Result<Self, ContractError> {
        let document = ContractDocument::compile(String::new(), document, &files::Reasons::new())?;
        Ok(Self::new(vec![document].into(), Vec::new()))
    }

    fn new(documents: OnceLock<Vec<ContractDocument>>, slips: Vec<Slip>) -> Self {
        Self { documents, hash: OnceLock::new(), union: OnceLock::new(), slips }
    }

    /// The documents, in their order.
    #[must_use]
    pub fn documents(&self) -> &[ContractDocument] {
        self.documents.get_or_init(|| vec![ContractDocument::built_in()])
    }

    /// The effective document: upgraded to 3.1, overlays applied; of several documents, their [union](union::union).
    #[must_use]
    pub fn document(&self) -> &Value {
        match self.documents() {
            [one] => &one.document,
            several => self.union.get_or_init(|| union::union(several)),
        }
    }

    /// The effective document as YAML that reads back as the same value.
    #[must_use]
    pub fn to_yaml(&self) -> String {
        yaml::write(self.document())
    }

    /// SHA-256 of the effective document, as 64 hex digits; of several documents, of their hashes in order. Attested
    /// findings carry it.
    #[must_use]
    pub fn hash(&self) -> &str {
        match self.documents() {
            [one] => one.hash(),
            several => {
                self.hash.get_or_init(|| sha256(&several.iter().map(ContractDocument::hash).collect::<String>()))
            }
        }
    }

    /// `info.title` of each document.
    #[must_use]
    pub fn title(&self) -> String {
        self.joined(|document| &document.title)
    }

    /// `info.version` of each document.
    #[must_use]
    pub fn version(&self) -> String {
        self.joined(|document| &document.version)
    }

    fn joined(&self, text: impl Fn(&ContractDocument) -> &str) -> String {
        self.documents().iter().map(text).collect::<Vec<_>>().join(" + ")
    }

    /// The documented operations that can judge an exchange, in the order of the documents.
    pub fn operations(&self) -> impl Iterator<Item = &model::Operation> {
        self.documents().iter().flat_map(|document| &document.model().operations)
    }

    /// Where the API keys stand that the security schemes of the documents declare, with the name there.
    pub fn api_keys(&self) -> impl Iterator<Item = (model::Place, &str)> {
        self.documents().iter().flat_map(|document| compile::api_keys(document.document()))
    }

    /// Compiles the schemas now and not with the first value to judge.
    pub fn prepare(&self) {
        self.documents().iter().for_each(|document| document.compiled.schemas.prepare());
    }

    /// Whether [`Self::prepare`] is over, so that no check waits for it.
    #[must_use]
    pub fn is_prepared(&self) -> bool {
        let documents = self.documents.get();
        documents.is_some_and(|all| all.iter().all(|document| document.compiled.schemas.is_prepared()))
    }

    /// What is allowed and mostly a slip, one line each: actions of overlays that changed nothing, keys that overlays do
    /// not have, and scopes that no security scheme declares.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let overlays = self.slips.iter().map(ToString::to_string);
        let scopes = self.documents().iter().flat_map(|document| &document.compiled.undeclared_scopes);
        overlays.chain(scopes.map(ToString::to_string)).collect()
    }

    /// Checks one exchange.
    #[must_use]
    pub fn check(&self, exchange: &Exchange, options: &CheckOptions) -> Verdict {
        let path = exchange.request.target.path();
        let found = self.locate(exchange.request.method.as_str(), path);
        let Some((document, matched)) = found else {
            let mut methods = Vec::new();
            for method in self.documents().iter().flat_map(|document| document.compiled.router.methods(path)) {
                if !methods.contains(&method) {
                    methods.push(method);
                }
            }
            let mut verdict = check::undocumented(&methods, exchange, options);
            if !self.covers(path) {
                // Another site in a browser's export, where requests fail every day: counted, not blamed.
                verdict.findings.retain(|finding| finding.rule == Rule::OperationUndocumented);
            }
            return verdict;
        };
        check::check(document.model(), &matched, exchange, options)
    }

    /// The documented operation that has this method and raw path, if there is one.
    #[must_use]
    pub fn find<'m, 'e>(&'m self, method: &str, path: &'e str) -> Option<model::Matched<'m, 'e>> {
        self.locate(method, path).map(|(_, matched)| matched)
    }

    /// The operation that judges a request of this method and raw path, with its document.
    #[must_use]
    pub fn locate<'m, 'e>(
        &'m self,
        method: &str,
        path: &'e str,
    ) -> Option<(&'m ContractDocument, model::Matched<'m, 'e>)> {
        self.documents().iter().find_map(|document| Some((document, document.find(method, path)?)))
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
        self.documents().iter().any(|document| document.covers(path))
    }
}

impl ContractDocument {
    /// The document with each reference of a schema as a JSON pointer.
    fn resolved(&self) -> &Value {
        self.compiled.schemas.document()
    }

    /// # Panics
    ///
    /// Never: a test compiles the embedded document.
    fn built_in() -> Self {
        let compiled = built_in_document()
            .and_then(|document| Self::compile(BUILT_IN.to_owned(), document, &files::Reasons::new()));
        compiled.expect("a test compiles the embedded document")
    }

    /// Reads, overlays and compiles a document; gives what of the overlays has no effect on it.
    fn load(file: &Path, overlays: &[PathBuf]) -> Result<(Self, Vec<Slip>), ContractError> {
        let is_built_in = file == Path::new(BUILT_IN);
        let mut document = if is_built_in { built_in_document()? } else { document::read(file)? };
        let reasons = if is_built_in { files::Reasons::new() } else { files::join(file, &mut document) };
        let mut slips = Vec::new();
        for overlay in overlays {
            slips.extend(overlay::apply(overlay, &mut document)?);
        }
        match Self::compile(file.display().to_string(), document, &reasons) {
            Ok(document) => Ok((document, slips)),
            Err(error) if is_built_in => Err(error),
            Err(error) => Err(ContractError::In { file: file.to_owned(), error: Box::new(error) }),
        }
    }

    fn compile(name: String, mut document: Value, reasons: &files::Reasons) -> Result<Self, ContractError> {
        upgrade::upgrade(&mut document)?;
        let document = Arc::new(document);
        let compiled = compile::compile(&document, reasons);
        let info = |key: &str| match refs::at(&document, "/info").and_then(|info| info.get(key)) {
            Some(Value::String(text)) => text.clone(),
            // `version: 2.0` without quotes is a number in YAML.
            Some(Value::Number(number)) => number.to_string(),
            _ => String::new(),
        };
        let (title, version) = (info("title"), info("version"));
        Ok(Self { name, document, title, version, compiled, hash: OnceLock::new() })
    }

    /// [`BUILT_IN`], or the file as it was named.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// SHA-256 of the effective document, as 64 hex digits.
    #[must_use]
    pub fn hash(&self) -> &str {
        self.hash.get_or_init(|| sha256(&self.document.to_string()))
    }

    /// `info.title`.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// `info.version`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The effective document: upgraded to 3.1, overlays applied.
    #[must_use]
    pub fn document(&self) -> &Value {
        &self.document
    }

    /// What the check reads.
    #[must_use]
    pub fn model(&self) -> &model::Model {
        &self.compiled.model
    }

    /// What the document states and contrail does not check.
    #[must_use]
    pub fn not_implemented(&self) -> &[NotImplemented] {
        &self.compiled.not_implemented
    }

    /// Places of the document that contrail cannot judge by: what they would restrict is unchecked.
    pub fn unusable_places(&self) -> impl Iterator<Item = &UnusablePlace> {
        let schemas = self.compiled.schemas.unusable();
        let known: HashSet<&UnusablePlace> = self.compiled.unusable.iter().collect();
        let references = self.compiled.unusable.iter().map(|place| &*place.at).filter(|at| at.ends_with("/$ref"));
        let references: HashSet<&str> = references.collect();
        let more = schemas.iter().filter(move |place| !known.contains(place) && !references.contains(&*place.at));
        self.compiled.unusable.iter().chain(more)
    }

    /// Base paths of the document's servers, without a trailing slash.
    #[must_use]
    pub fn base_paths(&self) -> &[String] {
        &self.compiled.bases
    }

    /// Paths of the token endpoints that the OAuth 2.0 schemes name.
    #[must_use]
    pub fn token_paths(&self) -> &[String] {
        &self.compiled.token_paths
    }

    /// Whether a raw path is a token endpoint's, with or without a slash at its end.
    #[must_use]
    pub fn is_token_path(&self, path: &str) -> bool {
        let plain = path.trim_end_matches('/');
        self.compiled.token_paths.iter().any(|held| held.trim_end_matches('/') == plain)
    }

    fn find<'m, 'e>(&'m self, method: &str, path: &'e str) -> Option<model::Matched<'m, 'e>> {
        let route = self.compiled.router.find(method, path)?;
        Some(model::Matched {
            operation: self.compiled.model.operations.get(route.to.operation)?,
            raw: route.raw,
            other_spelling: route.to.other_spelling,
        })
    }

    fn covers(&self, path: &str) -> bool {
        let under = |base: &String| is_at_or_below(path, base);
        self.compiled.bases.iter().any(under) || self.compiled.router.knows(path)
    }
}

fn sha256(text: &str) -> String {
    hex(ring::digest::digest(&ring::digest::SHA256, text.as_bytes()).as_ref())
}

fn built_in_document() -> Result<Value, ContractError> {
    document::parse(BUILT_IN_TEXT, Path::new(BUILT_IN))
}
