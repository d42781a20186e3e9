//! From a document to a [`Model`] and its routes.
//!
//! What the document says in a way that is not implemented here becomes "nothing is said" in the model, so that it is
//! never judged wrongly, and is listed ([`Compiled::not_implemented`]).

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{
    ContractError,
    error::invalid,
    model::{
        Catalogue, Content, Model, Operation, Parameter, Place, Relation, RequestBody, Response, Responses, Security,
        Spread, Status,
    },
    refs,
    route::{Router, base_path},
    schema::{Schema, SchemaError, Schemas},
};
use crate::{
    finding::{Unchecked, UncheckedSet},
    json::push_pointer,
};

/// The methods that a path item can document, as OpenAPI spells them.
const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/// Formats that are asserted: those of Draft 2020-12, and the tenant's. Any other is an annotation.
const ASSERTED_FORMATS: [&str; 18] = [
    "date",
    "date-time",
    "time",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uri",
    "uri-reference",
    "iri",
    "iri-reference",
    "uuid",
    "uri-template",
    "json-pointer",
    "relative-json-pointer",
    "regex",
    "strict-https-uri",
];

/// All that a contract needs of its document.
#[derive(Debug)]
pub(super) struct Compiled {
    pub(super) model: Model,
    pub(super) router: Router<Target>,
    /// Base paths of the document's servers, without a trailing slash.
    pub(super) bases: Vec<String>,
    pub(super) not_implemented: Vec<NotImplemented>,
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

/// Compiles a document whose references have been checked.
pub(super) fn compile(document: &Value) -> Result<Compiled, ContractError> {
    let mut compiler = Compiler {
        document,
        schemas: Schemas::new(document).map_err(unusable)?,
        router: Router::new(),
        token_paths: token_paths(document),
        not_implemented: Vec::new(),
    };
    let mut model = Model { media_types: media_types(document)?, scopes: catalogue(document), operations: Vec::new() };
    let bases = bases(document, "")?.unwrap_or_else(|| vec![String::new()]);
    for (path, item) in object(document, "/paths")? {
        if !path.starts_with("x-") {
            compiler.path_item(path, item, &bases, &mut model.operations)?;
        }
    }
    compiler.unreferenced_schemas()?;
    compiler.elsewhere();
    Ok(Compiled { model, router: compiler.router, bases, not_implemented: compiler.not_implemented })
}

struct Compiler<'d> {
    document: &'d Value,
    schemas: Schemas<'d>,
    router: Router<Target>,
    token_paths: Vec<String>,
    not_implemented: Vec<NotImplemented>,
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
                schema = Some(self.schema(&child(at, "schema"))?);
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

    fn request_body(
        &mut self,
        at: &str,
        operation: &'d Value,
        not_shown: &mut UncheckedSet,
    ) -> Result<RequestBody, ContractError> {
        let Some(body) = operation.get("requestBody") else {
            let silent = not_shown.contains(Unchecked::RequestBody);
            return Ok(if silent { RequestBody::NotShown } else { RequestBody::None });
        };
        let (at, body) = refs::follow(self.document, &child(at, "requestBody"), body)?;
        let required = body.get("required").and_then(Value::as_bool).unwrap_or(false);
        if required {
            not_shown.remove(Unchecked::RequestRequired);
        }
        Ok(RequestBody::Documented { content: self.content(&at, body)?, required })
    }

    fn responses(&mut self, at: &str, operation: &'d Value) -> Result<Responses, ContractError> {
        let mut responses = Responses::default();
        let Some(documented) = operation.get("responses") else { return Ok(responses) };
        let at = child(at, "responses");
        for (key, response) in members(documented, &at)? {
            if key.starts_with("x-") {
                continue;
            }
            let (place, response) = refs::follow(self.document, &child(&at, key), response)?;
            let response = Response {
                content: self.content(&place, response)?,
                headers: self.required_headers(&place, response)?,
            };
            match status(key) {
                Some(Some(status)) => responses.listed.push((status, response)),
                Some(None) => responses.default = Some(response),
                None => {
                    return Err(invalid(&at, format!("`{key}` is neither a status, a class of them nor `default`")));
                }
            }
        }
        Ok(responses)
    }

    fn required_headers(&mut self, at: &str, response: &'d Value) -> Result<Vec<Box<str>>, ContractError> {
        let Some(headers) = response.get("headers") else { return Ok(Vec::new()) };
        let at = child(at, "headers");
        let mut required = Vec::new();
        for (name, header) in members(headers, &at)? {
            let (place, header) = refs::follow(self.document, &child(&at, name), header)?;
            // OpenAPI: "If a response header is defined with the name Content-Type, it SHALL be ignored."
            if name.eq_ignore_ascii_case("content-type") {
                continue;
            }
            if header.get("required") == Some(&Value::Bool(true)) {
                required.push(name.as_str().into());
            }
            if header.get("schema").and_then(Value::as_object).is_some_and(|schema| !schema.is_empty()) {
                self.not_implemented(&place, &format!("the value of the header `{name}` is not checked"));
            }
        }
        Ok(required)
    }

    /// The media types of a request body or a response.
    fn content(&mut self, at: &str, holder: &'d Value) -> Result<Vec<Content>, ContractError> {
        let Some(content) = holder.get("content") else { return Ok(Vec::new()) };
        let at = child(at, "content");
        let mut media_types = Vec::new();
        for (name, media_type) in members(content, &at)? {
            let at = child(&at, name);
            let plain = name.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
            if !plain.contains('/') {
                return Err(invalid(&at, format!("`{name}` is no media type")));
            }
            members(media_type, &at)?;
            let mut schema = None;
            if media_type.get("schema").is_some() {
                // Compiled even where it is not used: an unusable schema never passes.
                let compiled = self.schema(&child(&at, "schema"))?;
                if is_judged(&plain) {
                    schema = Some(compiled);
                } else {
                    self.not_implemented(&at, &format!("bodies of `{plain}` are not checked against their schema"));
                }
            }
            if plain == "application/x-www-form-urlencoded" {
                self.encoding(&at, media_type);
            }
            media_types.push(Content { media_type: plain.into(), schema });
        }
        Ok(media_types)
    }

    /// A form whose fields are written in an unusual way cannot be read.
    fn encoding(&mut self, at: &str, media_type: &Value) {
        for (field, encoding) in media_type.get("encoding").and_then(Value::as_object).into_iter().flatten() {
            let style = encoding.get("style").and_then(Value::as_str).is_some_and(|style| style != "form");
            let kind = encoding.get("contentType").and_then(Value::as_str);
            if style || kind.is_some_and(|kind| !matches!(kind, "application/json" | "text/plain")) {
                let at = child(&child(at, "encoding"), field);
                self.not_implemented(&at, "the encoding is taken as OpenAPI's default (containers are JSON text)");
            }
        }
    }

    fn schema(&self, at: &str) -> Result<Schema, ContractError> {
        self.schemas.compile(at).map_err(unusable)
    }

    /// A schema that nothing refers to can be unusable as well as any other.
    fn unreferenced_schemas(&self) -> Result<(), ContractError> {
        let Some(schemas) = self.document.pointer("/components/schemas").and_then(Value::as_object) else {
            return Ok(());
        };
        let mut referenced = HashSet::new();
        refs::walk(self.document, &mut |_, object| {
            referenced.extend(object.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix('#')));
        });
        for name in schemas.keys() {
            let at = child("/components/schemas", name);
            if !referenced.contains(at.as_str()) {
                self.schema(&at)?;
            }
        }
        Ok(())
    }

    /// What stands in the document beside its operations, or in its schemas, and is not checked.
    fn elsewhere(&mut self) {
        if self.document.get("webhooks").is_some() {
            self.not_implemented("/webhooks", "webhooks are not checked");
        }
        let mut told: Vec<(String, String)> = Vec::new();
        refs::walk(self.document, &mut |at, object| {
            if !at.contains("/schema") {
                return;
            }
            let mut tell = |what: String| told.push((at.to_owned(), what));
            let shown = |name: &Value| name.as_str() == Some("format-grammar");
            let silent = object.get("x-contrail-not-shown").and_then(Value::as_array).into_iter().flatten().any(shown);
            match object.get("format").and_then(Value::as_str) {
                Some(format) if !silent && !ASSERTED_FORMATS.contains(&format) => {
                    tell(format!("the format `{format}` is not checked"));
                }
                _ => {}
            }
            for keyword in ["readOnly", "writeOnly"] {
                if object.get(keyword) == Some(&Value::Bool(true)) {
                    tell(format!("`{keyword}` is not checked"));
                }
            }
            if object.contains_key("$dynamicRef") {
                tell("undocumented fields below it are not looked for, because it has a `$dynamicRef`".to_owned());
            }
        });
        for (at, what) in told {
            self.not_implemented(&at, &what);
        }
    }

    /// What an operation asks of a caller; `false` beside it where that is nothing that contrail can judge.
    fn security(&mut self, at: &str, operation: &Value) -> Result<(Security, bool), ContractError> {
        let own_scopes = operation.get("x-contrail-required-scope");
        let own_scopes_at = child(at, "x-contrail-required-scope");
        let (at, requirements) = match operation.get("security") {
            Some(own) => (child(at, "security"), own),
            None => match self.document.get("security") {
                Some(shared) => ("/security".to_owned(), shared),
                None => return Ok((Security::default(), true)),
            },
        };
        let Some(requirements) = requirements.as_array() else { return Err(invalid(&at, "it has to be a list")) };
        let mut security = Security { required: !requirements.is_empty(), scopes: Vec::new() };
        let mut implemented = true;
        for (index, requirement) in requirements.iter().enumerate() {
            let at = format!("{at}/{index}");
            let mut scopes = Vec::new();
            let schemes = members(requirement, &at)?;
            if schemes.is_empty() {
                security.required = false;
            }
            for (name, needed) in schemes {
                let Some(scheme) = self.document.pointer(&child("/components/securitySchemes", name)) else {
                    return Err(ContractError::DanglingRef { at, target: child("#/components/securitySchemes", name) });
                };
                let (place, scheme) = refs::follow(self.document, &child("/components/securitySchemes", name), scheme)?;
                if !is_bearer(scheme) {
                    self.not_implemented(&place, &format!("the security scheme `{name}` is no bearer token"));
                    implemented = false;
                }
                scopes.extend(needed.as_array().into_iter().flatten().filter_map(Value::as_str).map(Into::into));
            }
            security.scopes.push(scopes);
        }
        if let Some(own) = own_scopes {
            security.scopes = vec![strings(own, &own_scopes_at)?.into_iter().map(Into::into).collect()];
            security.required = true;
        }
        // Every scheme is the same bearer header here, so an alternative without scopes does not lift those of another.
        security.scopes.retain(|scopes| !scopes.is_empty());
        security.scopes.dedup();
        if !implemented {
            security = Security::default();
        }
        Ok((security, implemented))
    }

    fn not_implemented(&mut self, at: &str, what: &str) {
        let told = NotImplemented { at: at.to_owned(), what: what.to_owned() };
        if !self.not_implemented.contains(&told) {
            self.not_implemented.push(told);
        }
    }
}

fn unusable(error: SchemaError) -> ContractError {
    let at = if error.at.is_empty() { "/".to_owned() } else { error.at };
    ContractError::UnusableSchema { at, reason: error.reason }
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

fn is_judged(media_type: &str) -> bool {
    matches!(media_type, "application/json" | "application/x-www-form-urlencoded" | "*/*" | "application/*")
        || media_type.ends_with("+json")
}

fn is_bearer(scheme: &Value) -> bool {
    match scheme.get("type").and_then(Value::as_str) {
        Some("oauth2" | "openIdConnect") => true,
        Some("http") => {
            scheme.get("scheme").and_then(Value::as_str).is_some_and(|scheme| scheme.eq_ignore_ascii_case("bearer"))
        }
        _ => false,
    }
}

/// `Some(None)` is `default`.
#[allow(clippy::option_option)]
fn status(key: &str) -> Option<Option<Status>> {
    if key == "default" {
        return Some(None);
    }
    let first = key.chars().next()?.to_digit(10).filter(|first| (1..=5).contains(first))?;
    if key.len() == 3 && key[1..].eq_ignore_ascii_case("XX") {
        return Some(Some(Status::Class(u16::try_from(first).ok()?)));
    }
    let digits = key.len() == 3 && key.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| key.parse().ok()).flatten().map(|status| Some(Status::Exactly(status)))
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

/// Paths of the token endpoints that the OAuth 2.0 schemes name.
fn token_paths(document: &Value) -> Vec<String> {
    flows(document)
        .filter_map(|flow| base_path(&serde_json::json!({"url": flow.get("tokenUrl")?})).zip(flow.get("tokenUrl")))
        // `base_path` drops a trailing slash, which is part of this path.
        .map(|(path, url)| if url.as_str().is_some_and(|url| url.ends_with('/')) { format!("{path}/") } else { path })
        .collect()
}

fn flows(document: &Value) -> impl Iterator<Item = &Value> {
    let schemes = document.pointer("/components/securitySchemes").and_then(Value::as_object).into_iter().flatten();
    schemes
        .filter(|(_, scheme)| scheme.get("type").and_then(Value::as_str) == Some("oauth2"))
        .filter_map(|(_, scheme)| scheme.get("flows")?.as_object())
        .flat_map(Map::values)
}

/// Every scope that any OAuth 2.0 scheme declares.
fn catalogue(document: &Value) -> Option<Catalogue> {
    let scopes = flows(document).filter_map(|flow| flow.get("scopes")?.as_object()).flat_map(Map::keys);
    let scopes: Catalogue = scopes.map(|scope| scope.as_str().into()).collect();
    if scopes.iter().next().is_none() { None } else { Some(scopes) }
}

fn media_types(document: &Value) -> Result<Vec<Box<str>>, ContractError> {
    match document.get("x-contrail-media-types") {
        None => Ok(Vec::new()),
        Some(names) => {
            let names = strings(names, "/x-contrail-media-types")?;
            Ok(names.into_iter().map(|name| name.to_ascii_lowercase().into()).collect())
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

fn relations(operation: &Value, at: &str, parameters: &[(String, &Value)]) -> Result<Vec<Relation>, ContractError> {
    let Some(relations) = operation.get("x-contrail-relations") else { return Ok(Vec::new()) };
    let at = child(at, "x-contrail-relations");
    let Some(relations) = relations.as_array() else { return Err(invalid(&at, "it has to be a list")) };
    let mut compiled = Vec::new();
    for (index, relation) in relations.iter().enumerate() {
        let at = format!("{at}/{index}");
        let parameter = |place: &str| {
            let name = text(relation, &at, "parameter")?;
            let found = parameters.iter().find(|(_, parameter)| {
                parameter.get("name").and_then(Value::as_str) == Some(name)
                    && parameter.get("in").and_then(Value::as_str) == Some(place)
            });
            match found {
                Some((_, parameter)) => Ok((name, *parameter)),
                None => Err(invalid(&at, format!("the operation documents no {place} parameter `{name}`"))),
            }
        };
        let pointer = |value: &str| {
            if value.is_empty() || value.starts_with('/') {
                Ok(value.into())
            } else {
                Err(invalid(&at, format!("`{value}` is no JSON pointer")))
            }
        };
        compiled.push(match text(relation, &at, "kind")? {
            "identity" => Relation::Identity {
                parameter: parameter("path")?.0.into(),
                response: pointer(text(relation, &at, "response")?)?,
            },
            "page-size" => {
                let (name, parameter) = parameter("query")?;
                Relation::PageSize {
                    parameter: name.into(),
                    default: parameter.pointer("/schema/default").and_then(Value::as_u64),
                    response: pointer(text(relation, &at, "response")?)?,
                }
            }
            "echo" => {
                let fields = relation.get("fields").ok_or_else(|| invalid(&at, "an echo needs `fields`"))?;
                let fields = strings(fields, &child(&at, "fields"))?;
                Relation::Echo { fields: fields.into_iter().map(pointer).collect::<Result<_, _>>()? }
            }
            other => {
                return Err(invalid(&at, format!("`{other}` is no relation; there are identity, page-size and echo")));
            }
        });
    }
    Ok(compiled)
}

#[cfg(test)]
mod tests;
