//! A request for each documented operation: what a client would send, made from the parameters and schemas.

use std::collections::HashSet;

use bytes::Bytes;
use contrail_contract::{CheckOptions, ContractDocument, encoded_path, has_no_request, model::Operation, refs};
use contrail_exchange::{Body, Credential, Headers, Request, Target, finding::Kind};
use http::{HeaderName, Method};
use serde_json::{Value, json};

use super::{
    Mock,
    answers::exchange_of,
    body,
    generate::{Direction, Generator, Style},
    text::{escaped, path_value, query_pairs, simple},
};

/// How many requests are tried for one operation.
const MAX_ATTEMPTS: usize = 16;

/// How many base paths of one operation are tried.
const MAX_BASES: usize = 8;

/// A request that a client could send.
#[derive(Debug, Clone)]
pub struct Sample {
    /// The operation's id.
    pub operation: String,
    /// The method.
    pub method: Method,
    /// Path and query.
    pub target: String,
    /// Names and values of headers.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
}

impl Mock {
    /// A request for each documented operation, `None` beside its id where none can be made that breaks no rule, or
    /// where no request has its path.
    #[must_use]
    pub fn samples(&self) -> Vec<(String, Option<Sample>)> {
        let mut samples = Vec::new();
        for document in self.contract.documents() {
            for operation in &document.model().operations {
                if operation.is_bare_token_endpoint() {
                    continue;
                }
                if has_no_request(&operation.path) {
                    samples.push((operation.id.to_string(), None));
                    continue;
                }
                // An earlier document may judge it, or another operation below the same base path.
                let is_own = |sample: &Sample| {
                    let path = sample.target.split('?').next().unwrap_or_default();
                    let found = self.contract.locate(sample.method.as_str(), path);
                    found.is_some_and(|(_, matched)| matched.operation.at == operation.at)
                };
                let mut known = HashSet::new();
                let bases = document.base_paths_of(operation).filter(|base| known.insert(base.clone()));
                let mut tried = bases.take(MAX_BASES).map(|base| self.sample(document, operation, &base));
                let own = tried.find(|sample| sample.as_ref().is_none_or(is_own));
                samples.extend(own.map(|sample| (operation.id.to_string(), sample)));
            }
        }
        samples
    }

    fn sample(&self, document: &ContractDocument, operation: &Operation, base: &str) -> Option<Sample> {
        let options = CheckOptions { response: false, auth: false, ..CheckOptions::default() };
        let mut gap = None;
        for attempt in 0..=MAX_ATTEMPTS {
            let style = Style::of(attempt, self.seed_number);
            // A body that need not be there is left out where none can be made.
            let Some(mut sample) = draft(document, operation, base, style, attempt) else { continue };
            let headers =
                sample.headers.iter().filter_map(|(name, value)| Some((name.parse().ok()?, value.parse().ok()?)));
            let request = Request {
                method: sample.method.clone(),
                target: Target::new("http", "tenant.example", &*sample.target),
                version: http::Version::HTTP_11,
                headers: headers.collect::<Headers>(),
                body: Body::whole(sample.body.clone()),
                credential: Credential::Unknown,
            };
            let verdict = self.contract.check(&exchange_of(&request, None), &options);
            if verdict.findings.iter().any(|finding| finding.kind() == Kind::Violation) {
                continue;
            }
            self.sign_in(document.document(), operation, &mut sample);
            // The document may name headers that no request can have.
            sample.headers.retain(|(name, _)| HeaderName::from_bytes(name.as_bytes()).is_ok());
            if verdict.findings.is_empty() {
                return Some(sample);
            }
            gap = gap.or(Some(sample));
        }
        gap
    }

    /// Adds the credentials of the first alternative that the operation documents.
    fn sign_in(&self, document: &Value, operation: &Operation, sample: &mut Sample) {
        let own = document.pointer(&refs::below(&operation.at, &["security"])).or_else(|| document.get("security"));
        let Some(first) = own.and_then(Value::as_array).and_then(|all| all.first()) else { return };
        for name in first.as_object().into_iter().flat_map(|all| all.keys()) {
            let Some(scheme) = document.pointer(&refs::below("/components/securitySchemes", &[name])) else { continue };
            let scheme = refs::followed(document, scheme);
            let text = |key: &str| scheme.get(key).and_then(Value::as_str).unwrap_or_default();
            match (text("type"), text("in"), &*text("scheme").to_ascii_lowercase()) {
                ("apiKey", place, _) if has_key(sample, place, text("name")) => {}
                ("apiKey", "header", _) => sample.headers.push((text("name").to_owned(), "key".to_owned())),
                ("apiKey", "cookie", _) => add_cookie(sample, &format!("{}=key", text("name"))),
                ("apiKey", "query", _) => {
                    let mark = if sample.target.contains('?') { '&' } else { '?' };
                    sample.target.push(mark);
                    sample.target.push_str(&escaped(text("name")));
                    sample.target.push_str("=key");
                }
                ("http", _, "basic") => {
                    sample.headers.push(("authorization".to_owned(), "Basic dXNlcjpwYXNz".to_owned()));
                }
                ("http", _, "bearer") | ("oauth2" | "openIdConnect", ..) => {
                    sample
                        .headers
                        .extend(self.bearer().map(|token| ("authorization".to_owned(), format!("Bearer {token}"))));
                }
                ("http", _, scheme) => sample.headers.push(("authorization".to_owned(), format!("{scheme} key"))),
                _ => {}
            }
        }
    }
}

/// Adds to the one field of cookies that a client sends (RFC 6265, section 5.4).
fn add_cookie(sample: &mut Sample, pair: &str) {
    match sample.headers.iter_mut().find(|(held, _)| held == "cookie") {
        Some((_, pairs)) => pairs.extend(["; ", pair]),
        None => sample.headers.push(("cookie".to_owned(), pair.to_owned())),
    }
}

/// Whether a documented parameter has the place and the name of an API key: its value is the key.
fn has_key(sample: &Sample, place: &str, name: &str) -> bool {
    let mut headers = sample.headers.iter();
    let query = sample.target.split_once('?').map_or("", |(_, query)| query);
    match place {
        "header" => headers.any(|(held, _)| held.eq_ignore_ascii_case(name)),
        "query" => form_urlencoded::parse(query.as_bytes()).any(|(held, _)| held == name),
        _ => headers
            .filter(|(held, _)| held == "cookie")
            .any(|(_, pairs)| pairs.split("; ").any(|pair| pair.split('=').next() == Some(name))),
    }
}

fn draft(
    document: &ContractDocument,
    operation: &Operation,
    base: &str,
    style: Style,
    attempt: usize,
) -> Option<Sample> {
    let whole = document.document();
    let held = whole.pointer(&operation.at)?;
    let mut sample = Sample {
        operation: operation.id.to_string(),
        method: operation.method.clone(),
        target: format!("{base}{}", operation.path),
        headers: Vec::new(),
        body: Bytes::new(),
    };
    let mut query = Vec::new();
    let mut given = Vec::new();
    for (_, parameter) in operation.followed_parameters(whole) {
        let text = |key: &str| parameter.get(key).and_then(Value::as_str).unwrap_or_default();
        let (name, place) = (text("name").to_owned(), text("in").to_owned());
        if given.contains(&(name.clone(), place.clone())) {
            continue;
        }
        given.push((name.clone(), place.clone()));
        let required = place == "path" || parameter.get("required") == Some(&Value::Bool(true));
        // What is optional is sent in the first attempts, where it is simple.
        if !(required || style.optional && style.examples && place == "query") {
            continue;
        }
        let Some(value) = parameter_value(whole, parameter, style) else {
            if required {
                return None;
            }
            continue;
        };
        match &*place {
            "path" => {
                let written = path_value(&name, text("style"), &value);
                sample.target = sample.target.replace(&format!("{{{name}}}"), &written);
            }
            "query" => query.extend(query_pairs(&name, parameter, &value)),
            "header" if !["accept", "content-type", "authorization"].contains(&&*name.to_ascii_lowercase()) => {
                sample.headers.push((name, simple(&value)));
            }
            "cookie" => add_cookie(&mut sample, &format!("{name}={}", simple(&value))),
            _ => {}
        }
    }
    sample.target = encoded_path(&sample.target).to_string();
    if !query.is_empty() {
        sample.target = format!("{}?{}", sample.target, query.join("&"));
    }
    let request_body = held.get("requestBody").map(|body| refs::followed(whole, body));
    let required = |body: &&Value| body.get("required") == Some(&Value::Bool(true));
    if let Some(request_body) = request_body.filter(|body| attempt < MAX_ATTEMPTS || required(body)) {
        let media_type = body::media_type(request_body, None);
        // Each example goes with and without what is optional beside it.
        let attempt = attempt / 2;
        if let Some(media_type) = media_type {
            let value = body::value(whole, request_body, media_type, style, Direction::Request, attempt)?;
            sample.headers.push(("content-type".to_owned(), body::sent(media_type).into_owned()));
            sample.body = body::encode(request_body, media_type, &value);
        }
    }
    // One that is documented has the length that a client sends, whatever the example is.
    let length = sample.body.len();
    let stated = sample.headers.iter_mut().find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    if let Some((_, stated)) = stated {
        *stated = length.to_string();
    }
    Some(sample)
}

fn parameter_value(document: &Value, parameter: &Value, style: Style) -> Option<Value> {
    if let Some(example) = parameter.get("example").filter(|_| style.examples) {
        return Some(example.clone());
    }
    if let Some(content) = parameter.get("content").and_then(Value::as_object) {
        let schema = content.values().next()?.get("schema")?;
        let value = Generator::new(document, style, Direction::Request).value(schema)?;
        return Some(Value::String(value.to_string()));
    }
    let anything = json!({"type": "string"});
    let schema = parameter.get("schema").unwrap_or(&anything);
    let value = Generator::new(document, style, Direction::Request).value(schema)?;
    // An empty segment is no segment.
    (value != json!("")).then_some(value)
}
