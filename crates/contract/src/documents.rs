//! A contract: its documents in their order, and which of them judges an exchange.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, OnceLock},
};

use contrail_exchange::{
    Exchange, Request,
    finding::{Rule, Verdict},
};
use serde_json::Value;

use super::{
    BUILT_IN, CheckOptions, ContractDocument, ContractError, check, compile,
    contract_document::{NONE, sha256, upstream_of},
    files, model,
    nearest::nearest,
    overlay::Slip,
    yaml,
};

/// A compiled contract. The first of its documents that has an exchange's operation judges the exchange. Where servers of
/// one name its host, documents whose servers name only other hosts come last. An upstream with documents of its own is
/// judged by them alone.
#[derive(Debug)]
pub struct Contract {
    /// At least one. The built-in document alone is compiled at its first use, because nothing in it can be wrong.
    documents: OnceLock<Vec<ContractDocument>>,
    /// Computed at its first use.
    hash: OnceLock<String>,
    /// See [`TenantFacts::lists_code`](contrail_exchange::TenantFacts::lists_code); collected at its first use.
    pub(super) codes: OnceLock<HashSet<Box<str>>>,
    slips: Vec<Slip>,
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
        let is_none = |file: &PathBuf| upstream_of(file).1 == Path::new(NONE);
        for file in files.iter().filter(|file| is_none(file)) {
            let (upstream, _) = upstream_of(file);
            let same = files.iter().filter(|other| upstream_of(other).0 == upstream);
            if same.count() > 1 || files.iter().all(is_none) && !overlays.is_empty() {
                return Err(ContractError::NoneBesideOthers);
            }
        }
        let mut documents = Vec::new();
        // A slip is one where it is one in every document: an action may be for one of them.
        let mut slips: Option<Vec<Slip>> = None;
        for file in files {
            let (document, own) = ContractDocument::load(file, overlays)?;
            if document.name() != NONE {
                slips = Some(match slips {
                    None => own,
                    Some(held) => held.into_iter().filter(|slip| own.contains(slip)).collect(),
                });
            }
            documents.push(document);
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
        Self { documents, hash: OnceLock::new(), codes: OnceLock::new(), slips }
    }

    /// The documents, in their order.
    #[must_use]
    pub fn documents(&self) -> &[ContractDocument] {
        self.documents.get_or_init(|| vec![ContractDocument::built_in()])
    }

    /// The effective document, the first of several: upgraded to 3.1, overlays applied.
    #[must_use]
    pub fn document(&self) -> &Value {
        self.documents().first().map_or(&Value::Null, ContractDocument::document)
    }

    /// The effective document as YAML that reads back as the same value.
    #[must_use]
    pub fn to_yaml(&self) -> String {
        yaml::write(self.document())
    }

    /// SHA-256 of the effective document, as 64 hex digits; of several documents, of their hashes in order, each behind
    /// the name of its upstream. Attested findings carry it.
    #[must_use]
    pub fn hash(&self) -> &str {
        match self.documents() {
            [one] if one.upstream.is_none() => one.hash(),
            several => {
                let hash = |document: &ContractDocument| {
                    [document.upstream.as_deref().unwrap_or_default(), document.hash()].concat()
                };
                self.hash.get_or_init(|| sha256(&several.iter().map(hash).collect::<String>()))
            }
        }
    }

    /// `info.title` of each document.
    #[must_use]
    pub fn title(&self) -> String {
        self.joined(ContractDocument::title)
    }

    /// `info.version` of each document.
    #[must_use]
    pub fn version(&self) -> String {
        self.joined(ContractDocument::version)
    }

    fn joined(&self, text: impl Fn(&ContractDocument) -> &str) -> String {
        self.documents().iter().map(text).collect::<Vec<_>>().join(" + ")
    }

    /// The documented operations that can judge an exchange, in the order of the documents.
    pub fn operations(&self) -> impl Iterator<Item = &model::Operation> {
        self.documents().iter().flat_map(|document| &document.model().operations)
    }

    /// Where the API keys stand that the security schemes of the documents declare, with the name there.
    pub fn api_keys(&self) -> impl Iterator<Item = (model::ParameterIn, &str)> {
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

    /// What is allowed and mostly a slip, one line each: documents without an operation, actions of overlays that changed
    /// nothing, keys that overlays do not have, and scopes that no security scheme declares.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let is_empty = |document: &&ContractDocument| document.model().operations.is_empty() && document.name() != NONE;
        let empty = self.documents().iter().filter(is_empty);
        let empty = empty.map(|document| {
            format!(
                "`{}` has no operation under `paths`, so it judges no exchange; is it the right file?",
                document.name()
            )
        });
        let overlays = self.slips.iter().map(ToString::to_string);
        let scopes = self.documents().iter().flat_map(|document| &document.compiled.undeclared_scopes);
        empty.chain(overlays).chain(scopes.map(ToString::to_string)).collect()
    }

    /// Whether it documents nothing on purpose, so that nothing is judged.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.documents().iter().all(|document| document.name() == NONE)
    }

    /// The documents that may judge the exchanges of an upstream: its own, or else those that are nobody's.
    fn documents_of(&self, upstream: Option<&str>) -> impl Iterator<Item = &ContractDocument> + Clone {
        let has = |document: &ContractDocument| document.upstream.as_deref() == upstream;
        let own = upstream.filter(|_| self.documents().iter().any(has));
        self.documents().iter().filter(move |document| document.upstream.as_deref() == own)
    }

    /// Checks one exchange.
    #[must_use]
    pub fn check(&self, exchange: &Exchange, options: &CheckOptions) -> Verdict {
        let target = &exchange.request.target;
        let documents = self.documents_of(target.upstream.as_deref());
        if documents.clone().all(|document| document.name() == NONE) {
            return Verdict::unjudged(match documents.clone().next() {
                Some(_) => "--contract none: no document says what to check",
                None => "no document of --contract is for this upstream",
            });
        }
        let path = target.path();
        let Some((document, matched)) = self.judges(&exchange.request) else {
            let mut methods = Vec::new();
            for method in documents.clone().flat_map(|document| document.compiled.router.methods(path)) {
                if !methods.contains(&method) {
                    methods.push(method);
                }
            }
            let near = || nearest(documents.clone(), exchange.request.method.as_str(), path);
            let near = methods.is_empty().then(near).flatten();
            let mut verdict = check::undocumented(&methods, near.as_deref(), exchange, options);
            if !documents.clone().any(|document| document.covers(path)) {
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

    /// The id of the operation that judges a request.
    #[must_use]
    pub fn operation_of(&self, request: &Request) -> Option<&str> {
        self.judges(request).map(|(_, matched)| &*matched.operation.id)
    }

    /// The operation that judges a request, with its document.
    #[must_use]
    pub fn judges<'m, 'e>(&'m self, request: &'e Request) -> Option<(&'m ContractDocument, model::Matched<'m, 'e>)> {
        let (method, path) = (request.method.as_str(), request.target.path());
        let mut documents = self.documents_of(request.target.upstream.as_deref());
        let find = |document: &'m ContractDocument| Some((document, document.find(method, path)?));
        if self.documents().len() > 1 {
            let host = request.target.normal_host();
            let names = |document: &&ContractDocument| document.hosts().contains(&host);
            let mut own = documents.clone().filter(|document| document.hosts().is_empty() || names(document));
            if documents.clone().any(|document| names(&document))
                && let Some(found) = own.find_map(find)
            {
                return Some(found);
            }
        }
        documents.find_map(find)
    }

    /// The operation that judges a request of this method and raw path to a host that no document names, with its
    /// document.
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

    /// The same for a request to this upstream, if it has a name.
    #[must_use]
    pub fn operation_id_at(&self, upstream: Option<&str>, method: &str, path: &str) -> Option<Arc<str>> {
        let found = self.documents_of(upstream).find_map(|document| document.find(method, path));
        found.map(|matched| Arc::clone(&matched.operation.id))
    }

    /// The path template of a documented operation, below its base path if its servers have only one.
    #[must_use]
    pub fn path_template(&self, operation: &str) -> Option<String> {
        let of = |document: &ContractDocument| {
            let found = document.model().operations.iter().find(|held| *held.id == *operation)?;
            let mut bases = document.base_paths_of(found);
            let base = bases.next().filter(|base| bases.all(|other| other == *base)).unwrap_or_default();
            Some(format!("{base}{}", found.path))
        };
        self.documents().iter().find_map(of)
    }

    /// Whether a raw path is the contract's business: under a server's base path (itself, or followed by a slash), or a
    /// documented operation's outside of it (the token endpoint). What is not is another site in a browser's export.
    #[must_use]
    pub fn covers(&self, path: &str) -> bool {
        self.documents().iter().any(|document| document.covers(path))
    }
}
