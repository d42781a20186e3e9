//! From a document to a [`Model`] and its routes.
//!
//! What the document states in a way that is not implemented here becomes silence in the model, so that it is
//! never judged wrongly, and is listed ([`Compiled::not_implemented`]).

mod compiler;
mod elsewhere;
mod keys;
mod members;
mod messages;
mod parameters;
mod relations;
mod security;
#[cfg(test)]
mod tests;

use std::{
    collections::{HashMap, HashSet},
    hash::Hash,
    sync::Arc,
};

use contrail_exchange::finding::{Unchecked, UncheckedSet};
use http::Method;
use serde_json::{Map, Value};

pub use self::compiler::NotImplemented;
pub(super) use self::{
    compiler::Compiled,
    security::{api_keys, named as named_scheme},
};
use self::{
    compiler::{Compiler, RouteTarget, Shared},
    members::{child, members, object, strings},
    relations::relations,
    security::{catalogue, token_paths},
};
use super::{
    ContractError,
    error::invalid,
    files::Reasons,
    media_type::MediaRange,
    model::{Content, Model, Operation, RequestBody},
    refs,
    route::{Group, NoRoute, Router, base_path, check_template, open_bases, urls},
    schema::Schemas,
};

/// The methods that a path item can document, as OpenAPI spells them. Others stand under `additionalOperations`.
const METHODS: [&str; 9] = ["get", "put", "post", "delete", "options", "head", "patch", "trace", "query"];

/// Maximum operations of a document, parameters of all its operations together, and base paths of one list of servers:
/// what a document states once, references and inheritance multiply.
const MAX_OPERATIONS: usize = 100_000;
const MAX_PARAMETERS: usize = 1_000_000;
const MAX_BASES: usize = 10_000;

/// Compiles a document. A place that is unusable is listed and left out; it never refuses the document. `reasons` are
/// those of references that lead to no file.
pub(super) fn compile(document: &Arc<Value>, reasons: &Reasons) -> Compiled {
    let schemas = Schemas::new(document);
    let document = &*Arc::clone(schemas.document());
    let mut compiler = Compiler {
        document,
        schemas,
        router: Router::new(),
        by_id: HashMap::new(),
        token_paths: token_paths(document),
        token_templates: HashMap::new(),
        parameters_left: MAX_PARAMETERS,
        shared: Shared::default(),
        not_implemented: Vec::new(),
        unusable: refs::dangling(document),
        undeclared_scopes: Vec::new(),
    };
    let media_types = compiler.usable(media_types(document)).unwrap_or_default();
    let mut model = Model {
        media_types,
        no_repeated_fields: document.get("x-contrail-repeated-fields").is_some_and(|says| says == "none"),
        error_bodies: false,
        scopes: catalogue(document),
        operations: Vec::new(),
    };
    let bases = compiler.bases("").unwrap_or_else(|| Bases { plain: vec![String::new()], open: Vec::new() });
    let group = compiler.new_group(&bases);
    let mut token_endpoints = Vec::new();
    for (path, item) in compiler.usable(object(document, "/paths")).into_iter().flatten() {
        if !path.starts_with("x-") {
            compiler.path_item(path, item, group, &mut model.operations, &mut token_endpoints);
        }
    }
    // Where the document has the other spelling as well, that one stands.
    for (group, index) in token_endpoints {
        let Operation { method, path, .. } = &model.operations[index];
        let other = path.strip_suffix('/').map_or_else(|| format!("{path}/"), str::to_owned);
        let _ = compiler.router.add(group, method, &other, RouteTarget { operation: index, other_spelling: true });
    }
    compiler.router.sort();
    compiler.elsewhere();
    model.error_bodies = model.operations.iter().any(|operation| operation.responses.show_error_bodies());
    let Compiler { schemas, router, token_paths, mut not_implemented, mut unusable, mut undeclared_scopes, .. } =
        compiler;
    for place in &mut unusable {
        let reference = refs::at(document, &place.at).and_then(Value::as_str).filter(|_| place.at.ends_with("/$ref"));
        if let Some(reason) = reference.and_then(|reference| reasons.get(reference)) {
            place.reason.clone_from(reason);
        }
    }
    each_once(&mut unusable);
    each_once(&mut not_implemented);
    each_once(&mut undeclared_scopes);
    let bases = bases.plain.into_iter().chain(bases.open).collect();
    Compiled { model, schemas, router, bases, not_implemented, unusable, token_paths, undeclared_scopes }
}

/// Base paths of a list of servers.
struct Bases {
    plain: Vec<String>,
    /// Those with variables that take any value.
    open: Vec<String>,
}

/// Drops what stands in a list before, keeping the order.
fn each_once<T: Clone + Eq + Hash>(list: &mut Vec<T>) {
    let mut known = HashSet::new();
    list.retain(|item| known.insert(item.clone()));
}

impl<'d> Compiler<'d> {
    fn path_item(
        &mut self,
        path: &str,
        item: &'d Value,
        group: Group,
        operations: &mut Vec<Operation>,
        token_endpoints: &mut Vec<(Group, usize)>,
    ) {
        let place = child("/paths", path);
        let Some((at, item)) = self.usable(refs::follow(self.document, &place, item)) else { return };
        let Some(item) = self.usable(members(item, &at)) else { return };
        let (item_at, mut shared) = (at.clone(), None);
        let group = self.group(&at).unwrap_or(group);
        for (at, method, operation) in self.methods(&at, item) {
            if self.usable(members(operation, &at)).is_none() {
                continue;
            }
            if operations.len() == MAX_OPERATIONS {
                self.unusable(
                    &at,
                    format!("{MAX_OPERATIONS} operations precede it: it and the rest of `{path}` are left out"),
                );
                return;
            }
            let group = self.group(&at).unwrap_or(group);
            let target = RouteTarget { operation: operations.len(), other_spelling: false };
            if let Err(no_route) = self.router.add(group, &method, path, target) {
                self.unusable(
                    &at,
                    match no_route {
                        NoRoute::Bad(bad) => format!("the path `{path}` cannot be routed: {}", bad.0),
                        NoRoute::Taken(by) => {
                            let other = &operations[by.operation].path;
                            format!("it has the same requests as `{other}`, which comes first")
                        }
                    },
                );
                continue;
            }
            let mut compiled = match self.shared.operations.get(&at) {
                Some(index) => {
                    let id = operation.get("operationId").and_then(Value::as_str);
                    let id = id.map_or_else(|| format!("{method} {path}"), str::to_owned);
                    Operation { id: id.into(), path: path.into(), ..operations[*index].clone() }
                }
                None => {
                    let shared = shared.get_or_insert_with(|| self.parameters(&item_at));
                    self.operation(&at, operation, &method, path, shared)
                }
            };
            self.shared.operations.entry(at.clone()).or_insert(operations.len());
            // Other methods at its path ask for no token (RFC 6749, section 3.2).
            compiled.token_endpoint =
                method == Method::POST && self.token_templates.get(&group).is_some_and(|held| held.contains(path));
            if compiled.token_endpoint {
                token_endpoints.push((group, operations.len()));
                compiled.security = security::before_a_token(&compiled.security);
            }
            if let Some(twin) = self.by_id.get(&compiled.id).map(|index| &operations[*index]) {
                let reason = format!("the operation id `{}` is also that of `{}`", twin.id, twin.path);
                self.unusable(&child(&at, "operationId"), reason);
                compiled.id = format!("{method} {path}").into();
            }
            self.by_id.entry(Arc::clone(&compiled.id)).or_insert(operations.len());
            operations.push(compiled);
        }
    }

    /// The operations of a path item, each with its place and its method.
    fn methods(&mut self, at: &str, item: &'d Map<String, Value>) -> Vec<(String, Method, &'d Value)> {
        let fixed = item.iter().filter(|(key, _)| METHODS.contains(&key.as_str()));
        let method = |name: &str| Method::from_bytes(name.as_bytes()).ok();
        let named = |(key, operation): (&String, &'d Value)| {
            Some((child(at, key), method(&key.to_ascii_uppercase())?, operation))
        };
        let mut found: Vec<_> = fixed.filter_map(named).collect();
        let at = child(at, "additionalOperations");
        let further = item.get("additionalOperations").map(|held| members(held, &at));
        for (name, operation) in further.and_then(|held| self.usable(held)).into_iter().flatten() {
            let at = child(&at, name);
            match method(name).filter(|_| !METHODS.contains(&&*name.to_ascii_lowercase())) {
                Some(method) => found.push((at, method, operation)),
                None => self.unusable(&at, format!("`{name}` is not a method that is allowed here")),
            }
        }
        found
    }

    fn operation(
        &mut self,
        at: &str,
        operation: &'d Value,
        method: &Method,
        path: &str,
        shared: &(Vec<(String, &'d Value)>, bool),
    ) -> Operation {
        let id = match operation.get("operationId") {
            Some(Value::String(id)) => id.clone(),
            other => {
                if other.is_some() {
                    self.unusable(&child(at, "operationId"), "it has to be a string");
                }
                format!("{method} {path}")
            }
        };
        let mut not_shown = self.usable(aspects(operation, "x-contrail-not-shown", at)).unwrap_or_default();
        let security = self.security(at, operation);
        let security = self.usable(security).unwrap_or_else(|| {
            not_shown.insert(Unchecked::Auth);
            Arc::default()
        });
        if !security.scopes.is_empty() {
            not_shown.remove(Unchecked::RequiredScope);
        }
        let (documented, mut all_read) = self.own_and_shared(at, shared);
        let mut parameters = Vec::new();
        for (at, parameter) in &documented {
            let parameter = self.parameter(at, parameter);
            let parameter = self.usable(parameter);
            all_read &= parameter.is_some();
            parameters.extend(parameter.flatten());
        }
        if !all_read {
            // Any name may be that of the one that is left out.
            not_shown.insert(Unchecked::RequestParameters);
        }
        if operation.get("callbacks").is_some() {
            self.not_implemented(&child(at, "callbacks"), "callbacks are not checked");
        }
        let relations = self.usable(relations(operation, at, &documented)).unwrap_or_default();
        let request_body = self.request_body(at, operation, &mut not_shown);
        let unusable = || RequestBody::Documented { content: [Content::unusable()].into(), required: false };
        let request_body = self.usable(request_body).unwrap_or_else(unusable);
        Operation {
            id: id.into(),
            at: at.into(),
            method: method.clone(),
            path: path.into(),
            parameters: parameters.into(),
            request_body,
            responses: Arc::new(self.responses(at, operation, &mut not_shown)),
            security,
            not_shown,
            relations: relations.into(),
            token_endpoint: false,
        }
    }

    /// The group of the paths below the servers at a place; `None` where it has none.
    fn group(&mut self, at: &str) -> Option<Group> {
        if let Some(known) = self.shared.groups.get(at) {
            return *known;
        }
        let group = self.bases(at).map(|bases| self.new_group(&bases));
        self.shared.groups.insert(at.to_owned(), group);
        group
    }

    fn new_group(&mut self, bases: &Bases) -> Group {
        let group = self.router.group(&bases.plain, &bases.open);
        let below = |path: &String| {
            bases.plain.iter().filter_map(|base| Some(path.strip_prefix(base)?.to_owned())).collect::<Vec<_>>()
        };
        self.token_templates.entry(group).or_insert_with(|| self.token_paths.iter().flat_map(below).collect());
        group
    }

    /// Base paths of the servers at a place; `None` where it has none.
    fn bases(&mut self, at: &str) -> Option<Bases> {
        let at = child(at, "servers");
        let Some(servers) = refs::at(self.document, &at)?.as_array() else {
            self.unusable(&at, "it has to be a list");
            return None;
        };
        let (mut bases, mut known) = (Bases { plain: Vec::new(), open: Vec::new() }, HashSet::new());
        for (index, server) in servers.iter().enumerate() {
            let Some(urls) = urls(server) else {
                let reason = "it needs a `url`, and each of its variables a `default`";
                self.unusable(&format!("{at}/{index}"), reason);
                continue;
            };
            let plain = urls.iter().map(|url| (base_path(url), false));
            for (base, is_open) in plain.chain(open_bases(server).map(|base| (base, true))) {
                if let Err(bad) = check_template(&base) {
                    self.unusable(&format!("{at}/{index}"), format!("its path `{base}` cannot be routed: {}", bad.0));
                } else if known.len() == MAX_BASES && !known.contains(&base) {
                    self.unusable(&format!("{at}/{index}"), format!("{MAX_BASES} base paths precede it"));
                } else if known.insert(base.clone()) {
                    if is_open { &mut bases.open } else { &mut bases.plain }.push(base);
                }
            }
        }
        (!bases.plain.is_empty()).then_some(bases)
    }
}

fn media_types(document: &Value) -> Result<Vec<MediaRange>, ContractError> {
    let at = "/x-contrail-media-types";
    let Some(names) = document.get("x-contrail-media-types") else { return Ok(Vec::new()) };
    let range =
        |name: &str| MediaRange::parse(name).ok_or_else(|| invalid(at, format!("`{name}` is not a media type")));
    strings(names, at)?.into_iter().map(range).collect()
}

/// The aspects of checks that an object of the document names under `key`; other names are for readers only.
fn aspects(object: &Value, key: &str, at: &str) -> Result<UncheckedSet, ContractError> {
    let mut set = UncheckedSet::default();
    if let Some(names) = object.get(key) {
        for name in strings(names, &child(at, key))? {
            if let Some(aspect) = Unchecked::from_name(name) {
                set.insert(aspect);
            }
        }
    }
    Ok(set)
}
