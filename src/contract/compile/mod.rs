//! From a document to a [`Model`] and its routes.
//!
//! What the document says in a way that is not implemented here becomes "nothing is said" in the model, so that it is
//! never judged wrongly, and is listed ([`Compiled::not_implemented`]).

mod elsewhere;
mod messages;
mod relations;
mod security;
#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc};

use serde_json::{Map, Value};

use self::{
    relations::relations,
    security::{catalogue, token_paths},
};
use super::{
    ContractError,
    error::invalid,
    model::{Model, Operation, Parameter, Place, Spread},
    refs,
    route::{Router, base_path},
    schema::Schemas,
};
use crate::{
    finding::{Unchecked, UncheckedSet},
    json::push_pointer,
};

/// The methods that a path item can document, as OpenAPI spells them.
const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/// All that a contract needs of its document.
#[derive(Debug)]
pub(super) struct Compiled {
    pub(super) model: Model,
    pub(super) schemas: Arc<Schemas>,
    pub(super) router: Router<Target>,
    /// Base paths of the document's servers, without a trailing slash.
    pub(super) bases: Vec<String>,
    pub(super) not_implemented: Vec<NotImplemented>,
    /// Scopes that operations ask for and that no security scheme declares.
    pub(super) undeclared_scopes: Vec<UndeclaredScope>,
}

/// What a route leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Target {
    /// Index into [`Model::operations`].
    pub(super) operation: usize,
    /// See [`super::model::Matched::other_spelling`].
    pub(super) other_spelling: bool,
}

/// Something that the document says and that contrail does not check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotImplemented {
    /// JSON pointer into the document.
    pub at: String,
    /// What it is, and what that means.
    pub what: String,
}

/// A scope in `security` that is not in the catalogue of its scheme.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UndeclaredScope {
    /// JSON pointer into the document.
    pub(super) at: String,
    pub(super) scope: String,
}

impl fmt::Display for UndeclaredScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (at, scope) = (&self.at, self.scope.escape_debug());
        write!(f, "`{at}` asks for the scope `{scope}`, which the security scheme does not declare")
    }
}

/// Compiles a document whose references have been checked.
pub(super) fn compile(document: &Arc<Value>) -> Result<Compiled, ContractError> {
    let mut compiler = Compiler {
        document,
        schemas: Schemas::new(Arc::clone(document)),
        router: Router::new(),
        token_paths: token_paths(document),
        not_implemented: Vec::new(),
        undeclared_scopes: Vec::new(),
    };
    let mut model = Model { media_types: media_types(document)?, scopes: catalogue(document), operations: Vec::new() };
    let bases = bases(document, "")?.unwrap_or_else(|| vec![String::new()]);
    for (path, item) in object(document, "/paths")? {
        if !path.starts_with("x-") {
            compiler.path_item(path, item, &bases, &mut model.operations)?;
        }
    }
    compiler.elsewhere();
    let Compiler { schemas, router, not_implemented, undeclared_scopes, .. } = compiler;
    Ok(Compiled { model, schemas, router, bases, not_implemented, undeclared_scopes })
}

struct Compiler<'d> {
    document: &'d Value,
    schemas: Arc<Schemas>,
    router: Router<Target>,
    token_paths: Vec<String>,
    not_implemented: Vec<NotImplemented>,
    undeclared_scopes: Vec<UndeclaredScope>,
}

impl<'d> Compiler<'d> {
    fn path_item(
        &mut self,
        path: &str,
        item: &'d Value,
        bases: &[String],
        operations: &mut Vec<Operation>,
    ) -> Result<(), ContractError> {
        let (at, item) = refs::follow(self.document, &child("/paths", path), item)?;
        let shared = self.parameters(&at)?;
        let own_bases = self::bases(self.document, &at)?;
        for (key, operation) in members(item, &at)? {
            if !METHODS.contains(&key.as_str()) {
                continue;
            }
            let at = child(&at, key);
            let nearer = self::bases(self.document, &at)?.or_else(|| own_bases.clone());
            let bases = nearer.as_deref().unwrap_or(bases);
            let method = http::Method::from_bytes(key.to_ascii_uppercase().as_bytes())
                .map_err(|_| invalid(&at, "it is no method"))?;
            let compiled = self.operation(&at, operation, &method, path, &shared, bases)?;
            if let Some(twin) = operations.iter().find(|held| held.id == compiled.id) {
                return Err(invalid(&at, format!("the operation id `{}` is that of `{}`, too", twin.id, twin.path)));
            }
            let index = operations.len();
            for base in bases {
                let full = format!("{base}{path}");
                let target = Target { operation: index, other_spelling: false };
                self.router
                    .add(method.clone(), &full, target)
                    .map_err(|bad| invalid(&at, format!("the path `{path}` cannot be routed: {}", bad.0)))?;
                if compiled.token_endpoint {
                    let other = full.strip_suffix('/').map_or_else(|| format!("{full}/"), str::to_owned);
                    // Where the document has the other spelling as well, that one stands.
                    let target = Target { operation: index, other_spelling: true };
                    let _ = self.router.add(method.clone(), &other, target);
                }
            }
            operations.push(compiled);
        }
        Ok(())
    }

    fn operation(
        &mut self,
        at: &str,
        operation: &'d Value,
        method: &http::Method,
        path: &str,
        shared: &[(String, &'d Value)],
        bases: &[String],
    ) -> Result<Operation, ContractError> {
        members(operation, at)?;
        let id = match operation.get("operationId") {
            None => format!("{method} {path}"),
            Some(Value::String(id)) => id.clone(),
            Some(_) => return Err(invalid(&child(at, "operationId"), "it has to be a string")),
        };
        let mut not_shown = not_shown(operation, at)?;
        let (security, implemented) = self.security(at, operation)?;
        if !implemented {
            not_shown.insert(Unchecked::Auth);
        }
        if !security.scopes.is_empty() {
            not_shown.remove(Unchecked::RequiredScope);
        }
        let own = self.parameters(at)?;
        let inherited = shared.iter().filter(|(_, shared)| !own.iter().any(|(_, own)| same_parameter(own, shared)));
        let documented: Vec<_> = inherited.chain(&own).cloned().collect();
        let mut parameters = Vec::new();
        for (at, parameter) in &documented {
            parameters.extend(self.parameter(at, parameter)?);
        }
        if operation.get("callbacks").is_some() {
            self.not_implemented(&child(at, "callbacks"), "callbacks are not checked");
        }
        let relations = relations(operation, at, &documented)?;
        Ok(Operation {
            id: id.into(),
            method: method.clone(),
            path: path.into(),
            parameters,
            request_body: self.request_body(at, operation, &mut not_shown)?,
            responses: self.responses(at, operation)?,
            security,
            not_shown,
            relations,
            token_endpoint: bases.iter().any(|base| self.token_paths.contains(&format!("{base}{path}"))),
        })
    }

    /// The parameters that stand at a path item or an operation, with their places, references followed.
    fn parameters(&self, at: &str) -> Result<Vec<(String, &'d Value)>, ContractError> {
        let at = child(at, "parameters");
        let Some(parameters) = self.document.pointer(&at) else { return Ok(Vec::new()) };
        let Some(parameters) = parameters.as_array() else { return Err(invalid(&at, "it has to be a list")) };
        parameters
            .iter()
            .enumerate()
            .map(|(index, parameter)| refs::follow(self.document, &format!("{at}/{index}"), parameter))
            .collect()
    }

    fn parameter(&mut self, at: &str, parameter: &Value) -> Result<Option<Parameter>, ContractError> {
        let name = text(parameter, at, "name")?;
        let place = match text(parameter, at, "in")? {
            "path" => Place::Path,
            "query" => Place::Query,
            other @ ("header" | "cookie") => {
                self.not_implemented(at, &format!("{other} parameters (`{name}`) are not checked"));
                return Ok(None);
            }
            other => return Err(invalid(at, format!("`in: {other}` is no place of a parameter"))),
        };
        let style = parameter.get("style").and_then(Value::as_str);
        let usual = if place == Place::Path { "simple" } else { "form" };
        let flag = |key: &str| parameter.get(key).and_then(Value::as_bool);
        let explode = flag("explode").unwrap_or(place == Place::Query);
        let mut schema = None;
        let mut spread = None;
        if let Some(other) = style.filter(|style| *style != usual) {
            self.not_implemented(at, &format!("the style `{other}` of `{name}` is not checked"));
            spread = (other == "deepObject").then_some(Spread::Brackets);
        } else if parameter.get("content").is_some() {
            self.not_implemented(at, &format!("the `content` of the parameter `{name}` is not checked"));
        } else if let Some(held) = parameter.get("schema") {
            let (_, held) = refs::follow(self.document, &child(at, "schema"), held)?;
            if held.get("type").and_then(Value::as_str) == Some("object") {
                self.not_implemented(at, &format!("the object in the parameter `{name}` is not checked"));
                let keys = held.get("properties").and_then(Value::as_object).into_iter().flat_map(|keys| keys.keys());
                let keys = || keys.map(|key| key.as_str().into()).collect();
                spread = (explode && place == Place::Query).then(|| Spread::Keys(keys()));
            } else {
                schema = Some(self.schemas.at(&child(at, "schema")));
            }
        }
        Ok(Some(Parameter {
            name: name.into(),
            place,
            required: place == Place::Path || flag("required").unwrap_or(false),
            explode,
            spread,
            schema,
        }))
    }

    fn not_implemented(&mut self, at: &str, what: &str) {
        let told = NotImplemented { at: at.to_owned(), what: what.to_owned() };
        if !self.not_implemented.contains(&told) {
            self.not_implemented.push(told);
        }
    }
}

fn child(at: &str, token: &str) -> String {
    let mut pointer = at.to_owned();
    push_pointer(&mut pointer, token);
    pointer
}

fn object<'d>(document: &'d Value, at: &str) -> Result<impl Iterator<Item = (&'d String, &'d Value)>, ContractError> {
    match document.pointer(at) {
        None => Ok(None.into_iter().flatten()),
        Some(value) => Ok(Some(members(value, at)?).into_iter().flatten()),
    }
}

fn members<'d>(value: &'d Value, at: &str) -> Result<&'d Map<String, Value>, ContractError> {
    value.as_object().ok_or_else(|| invalid(at, "it has to be an object"))
}

fn text<'d>(value: &'d Value, at: &str, key: &str) -> Result<&'d str, ContractError> {
    value.get(key).and_then(Value::as_str).ok_or_else(|| invalid(at, format!("`{key}` has to be a string")))
}

/// A string, or a list of strings.
fn strings<'d>(value: &'d Value, at: &str) -> Result<Vec<&'d str>, ContractError> {
    let one = std::slice::from_ref(value);
    let items = value.as_array().map_or(one, Vec::as_slice);
    items.iter().map(|item| item.as_str().ok_or_else(|| invalid(at, "it has to be a list of strings"))).collect()
}

fn same_parameter(a: &Value, b: &Value) -> bool {
    ["name", "in"].iter().all(|key| a.get(key) == b.get(key))
}

/// Base paths of the servers that stand at a place; `None` where none do.
fn bases(document: &Value, at: &str) -> Result<Option<Vec<String>>, ContractError> {
    let at = child(at, "servers");
    let Some(servers) = document.pointer(&at).and_then(Value::as_array).filter(|servers| !servers.is_empty()) else {
        return Ok(None);
    };
    let mut bases = Vec::new();
    for (index, server) in servers.iter().enumerate() {
        let place = format!("{at}/{index}");
        let base = base_path(server)
            .ok_or_else(|| invalid(&place, "it needs a `url`, and each of its variables a `default`"))?;
        if !bases.contains(&base) {
            bases.push(base);
        }
    }
    Ok(Some(bases))
}

fn media_types(document: &Value) -> Result<Vec<Box<str>>, ContractError> {
    match document.get("x-contrail-media-types") {
        None => Ok(Vec::new()),
        Some(names) => {
            let names = strings(names, "/x-contrail-media-types")?;
            Ok(names.into_iter().map(|name| name.to_ascii_lowercase().as_str().into()).collect())
        }
    }
}

/// The aspects that come back as unchecked; other names are for readers only.
fn not_shown(operation: &Value, at: &str) -> Result<UncheckedSet, ContractError> {
    let mut set = UncheckedSet::default();
    if let Some(names) = operation.get("x-contrail-not-shown") {
        for name in strings(names, &child(at, "x-contrail-not-shown"))? {
            if let Some(aspect) = Unchecked::from_name(name) {
                set.insert(aspect);
            }
        }
    }
    Ok(set)
}
