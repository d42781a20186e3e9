//! One document of a contract, compiled.

use std::{
    collections::{BTreeSet, HashSet},
    iter::successors,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use contrail_exchange::{hex::hex, is_at_or_below, is_upstream_name};
use serde_json::{Map, Value, json};

use super::{
    ContractError, NotImplemented, UnusablePlace, compile, document, files, model,
    overlay::{self, Slip},
    refs,
    route::{base_path, hosts, urls},
    upgrade,
};

/// The built-in contract's text.
const BUILT_IN_TEXT: &str = include_str!("../../../contracts/tenant-management.yaml");
/// The name of the built-in contract, in place of a file's.
pub const BUILT_IN: &str = "built-in";
/// The name of the contract that documents nothing, in place of a file's: by it nothing is judged.
pub(super) const NONE: &str = "none";

/// The name of the upstream that a document is for, and its file: of `billing=b.yaml`, both.
#[must_use]
pub fn upstream_of(named: &Path) -> (Option<&str>, &Path) {
    let parts = named.to_str().and_then(|text| text.split_once('='));
    match parts.filter(|(name, _)| is_upstream_name(name)) {
        Some((name, file)) => (Some(name), Path::new(file)),
        None => (None, named),
    }
}

/// One document of a contract, compiled.
#[derive(Debug)]
pub struct ContractDocument {
    /// [`BUILT_IN`], or the file as it was named.
    name: String,
    /// The upstream whose exchanges it judges; `None` for those of every upstream that has no document of its own.
    pub(super) upstream: Option<String>,
    document: Arc<Value>,
    title: String,
    version: String,
    pub(super) compiled: compile::Compiled,
    /// Computed at its first use.
    hash: OnceLock<String>,
    /// See [`Self::hosts`].
    hosts: OnceLock<Vec<String>>,
}

impl ContractDocument {
    /// The document with each reference of a schema as a JSON pointer.
    pub(super) fn resolved(&self) -> &Value {
        self.compiled.schemas.document()
    }

    /// # Panics
    ///
    /// Never: a test compiles the embedded document.
    pub(super) fn built_in() -> Self {
        let compiled = built_in_document()
            .and_then(|document| Self::compile(BUILT_IN.to_owned(), document, &files::Reasons::new()));
        compiled.expect("a test compiles the embedded document")
    }

    /// Reads, overlays and compiles a document; gives what of the overlays has no effect on it.
    pub(super) fn load(named: &Path, overlays: &[PathBuf]) -> Result<(Self, Vec<Slip>), ContractError> {
        let (upstream, file) = upstream_of(named);
        let (document, slips) = Self::read(file, overlays)?;
        Ok((Self { upstream: upstream.map(str::to_owned), ..document }, slips))
    }

    fn read(file: &Path, overlays: &[PathBuf]) -> Result<(Self, Vec<Slip>), ContractError> {
        if file == Path::new(NONE) {
            let info = json!({"title": "no contract", "version": ""});
            let document = json!({"openapi": "3.1.0", "info": info, "paths": {}});
            return Ok((Self::compile(NONE.to_owned(), document, &files::Reasons::new())?, Vec::new()));
        }
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

    pub(super) fn compile(name: String, mut document: Value, reasons: &files::Reasons) -> Result<Self, ContractError> {
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
        let (hash, hosts) = (OnceLock::new(), OnceLock::new());
        Ok(Self { name, upstream: None, document, title, version, compiled, hash, hosts })
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

    /// Hosts that its servers name: of the document, of its path items and of their operations.
    pub(super) fn hosts(&self) -> &[String] {
        self.hosts.get_or_init(|| {
            let items = || self.document.get("paths").and_then(Value::as_object).into_iter().flat_map(Map::values);
            let operations = items().filter_map(Value::as_object).flat_map(Map::values);
            let servers = [&*self.document].into_iter().chain(items()).chain(operations);
            let servers = servers.filter_map(|place| place.get("servers")?.as_array()).flatten();
            servers.flat_map(hosts).collect::<BTreeSet<_>>().into_iter().collect()
        })
    }

    /// Base paths of the servers nearest to an operation, in the order of the document.
    pub fn base_paths_of(&self, operation: &model::Operation) -> impl Iterator<Item = String> {
        let mut places = successors(Some(&*operation.at), |place| Some(place.rsplit_once('/')?.0));
        let nearest = places.find_map(|place| {
            let servers = refs::at(self.document(), &refs::below(place, &["servers"]))?.as_array()?;
            servers.iter().any(|server| urls(server).is_some()).then_some(servers)
        });
        let bases = nearest.into_iter().flatten().filter_map(urls).flatten().map(|url| base_path(&url));
        bases.chain(nearest.is_none().then(String::new))
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

    pub(super) fn find<'m, 'e>(&'m self, method: &str, path: &'e str) -> Option<model::Matched<'m, 'e>> {
        let route = self.compiled.router.find(method, path)?;
        Some(model::Matched {
            operation: self.compiled.model.operations.get(route.to.operation)?,
            raw: route.raw,
            other_spelling: route.to.other_spelling,
        })
    }

    pub(super) fn covers(&self, path: &str) -> bool {
        let under = |base: &String| is_at_or_below(path, base);
        self.compiled.bases.iter().any(under) || self.compiled.router.knows(path)
    }
}

/// SHA-256 as 64 hex digits.
pub(super) fn sha256(text: &str) -> String {
    hex(ring::digest::digest(&ring::digest::SHA256, text.as_bytes()).as_ref())
}

fn built_in_document() -> Result<Value, ContractError> {
    document::parse(BUILT_IN_TEXT, Path::new(BUILT_IN))
}
