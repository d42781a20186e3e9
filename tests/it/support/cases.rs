//! The exchanges of `fixtures/cases` with what is expected of them. `fixtures/cases/README.md` says how they are written.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use base64::{
    Engine as _,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
};
use contrail_contract::CheckOptions;
use contrail_exchange::{
    Body, Credential, Exchange, Headers, Request, Response, SignatureCheck, Target, Timings, Transport, token,
};
use serde_json::{Map, Value, json};

/// One case: an exchange, and what the check has to say about it.
#[derive(Debug, Clone)]
pub struct Case {
    /// `file: group: case`.
    pub name: String,
    fields: Map<String, Value>,
}

/// Whatever a case may say.
const KEYS: [&str; 24] = [
    "about",
    "answer",
    "answer-base64",
    "answer-headers",
    "answer-type",
    "authorization",
    "blame",
    "body",
    "body-base64",
    "contract",
    "expect",
    "headers",
    "incomplete",
    "like",
    "name",
    "options",
    "overlay",
    "remove",
    "request",
    "says",
    "status",
    "token",
    "type",
    "unchecked",
];

/// The folder of the cases.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/cases")
}

/// The files of the folder, in order.
pub fn files() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .collect();
    files.sort();
    files
}

/// Every case of every file.
pub fn all() -> Vec<Case> {
    files().iter().flat_map(|file| read(file)).collect()
}

/// The cases of one file.
pub fn read(file: &Path) -> Vec<Case> {
    let stem = file.file_stem().unwrap().to_string_lossy().into_owned();
    let text = std::fs::read_to_string(file).unwrap();
    let options = serde_saphyr::options! { strict_booleans: true };
    let document: Value =
        serde_saphyr::from_str_with_options(&text, options).unwrap_or_else(|error| panic!("{stem}: {error}"));
    let bases: BTreeMap<String, Value> =
        document["bases"].as_object().into_iter().flatten().map(|(name, base)| (name.clone(), base.clone())).collect();
    let mut cases = Vec::new();
    for group in document["groups"].as_array().unwrap_or_else(|| panic!("{stem}: no `groups`")) {
        let about = group["about"].as_str().unwrap_or_else(|| panic!("{stem}: a group without `about`"));
        let known = ["about", "base", "cases"];
        assert!(group.as_object().unwrap().keys().all(|key| known.contains(&key.as_str())), "{stem}: {about}");
        let group_base = group.get("base").cloned().unwrap_or_else(|| json!({}));
        for case in group["cases"].as_array().unwrap_or_else(|| panic!("{stem}: {about}: no `cases`")) {
            let name = format!(
                "{stem}: {about}: {}",
                case["name"]
                    .as_str()
                    .unwrap_or_else(|| panic!("{stem}: {about}: a case whose name is no text: {case}"))
            );
            let mut fields = Map::new();
            lay(&mut fields, &group_base, &bases, &name);
            lay(&mut fields, case, &bases, &name);
            cases.push(Case { name, fields });
        }
    }
    cases
}

/// Lays a base or a case over what is there: first what it is `like`, then its own fields, then its edits.
fn lay(fields: &mut Map<String, Value>, over: &Value, bases: &BTreeMap<String, Value>, name: &str) {
    if let Some(like) = over.get("like").and_then(Value::as_str) {
        let base = bases.get(like).unwrap_or_else(|| panic!("{name}: there is no base `{like}`"));
        lay(fields, base, bases, name);
    }
    for (key, value) in over.as_object().unwrap_or_else(|| panic!("{name}: it is no mapping")) {
        let value = expand(value);
        if let Some((message, pointer)) = key.split_once('/') {
            assert!(matches!(message, "body" | "answer" | "token"), "{name}: `{key}` edits nothing");
            let held = fields.get_mut(message).unwrap_or_else(|| panic!("{name}: no `{message}` to edit"));
            set(held, &format!("/{pointer}"), Some(value)).unwrap_or_else(|| panic!("{name}: no place `{key}`"));
            continue;
        }
        assert!(KEYS.contains(&key.as_str()), "{name}: `{key}` is not known; see the README");
        match key.as_str() {
            "remove" => {
                for place in value.as_array().unwrap() {
                    let (message, pointer) = place.as_str().unwrap().split_once('/').unwrap();
                    set(&mut fields[message], &format!("/{pointer}"), None)
                        .unwrap_or_else(|| panic!("{name}: no place `{place}`"));
                }
            }
            "headers" | "answer-headers" => {
                let held = fields.entry(key.clone()).or_insert_with(|| json!({}));
                held.as_object_mut().unwrap().extend(value.as_object().unwrap().clone());
            }
            "body" | "body-base64" => replace(fields, &["body", "body-base64"], key, value),
            "answer" | "answer-base64" => replace(fields, &["answer", "answer-base64"], key, value),
            "token" | "authorization" => replace(fields, &["token", "authorization"], key, value),
            _ => {
                fields.insert(key.clone(), value);
            }
        }
    }
}

fn replace(fields: &mut Map<String, Value>, either: &[&str], key: &str, value: Value) {
    for key in either {
        fields.remove(*key);
    }
    fields.insert(key.to_owned(), value);
}

/// Sets or removes the value at a JSON pointer.
fn set(root: &mut Value, pointer: &str, value: Option<Value>) -> Option<()> {
    let (parent, token) = pointer.rsplit_once('/')?;
    let token = token.replace("~1", "/").replace("~0", "~");
    match (root.pointer_mut(parent)?, value) {
        (Value::Object(members), Some(value)) => {
            members.insert(token, value);
        }
        (Value::Object(members), None) => {
            members.shift_remove(&token)?;
        }
        (Value::Array(items), Some(value)) if token == "-" => items.push(value),
        (Value::Array(items), Some(value)) => *items.get_mut(token.parse::<usize>().ok()?)? = value,
        _ => return None,
    }
    Some(())
}

/// `${x*27}` in a text is `x` 27 times; `{repeat: 27, item: …}` is a list of 27 items.
fn expand(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(expand_text(text)),
        Value::Array(items) => Value::Array(items.iter().map(expand).collect()),
        Value::Object(members) => match (members.get("repeat").and_then(Value::as_u64), members.get("item")) {
            (Some(times), Some(item)) if members.len() == 2 => {
                Value::Array(vec![expand(item); usize::try_from(times).unwrap()])
            }
            _ => members.iter().map(|(key, value)| (expand_text(key), expand(value))).collect(),
        },
        other => other.clone(),
    }
}

fn expand_text(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (inside, after) = after.split_once('}').expect("`${x*n}` is closed");
        let (unit, times) = inside.rsplit_once('*').expect("`${x*n}` has a `*`");
        out.push_str(before);
        out.push_str(&unit.repeat(times.parse().expect("`${x*n}` has a number")));
        rest = after;
    }
    out + rest
}

impl Case {
    /// The method.
    pub fn method(&self) -> &str {
        self.request().0
    }

    /// Path and query, byte for byte.
    pub fn target(&self) -> &str {
        self.request().1
    }

    fn request(&self) -> (&str, &str) {
        let line = self.fields["request"].as_str().unwrap();
        line.split_once(' ').unwrap_or_else(|| panic!("{}: `request` is METHOD PATH", self.name))
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.fields.get(key).and_then(Value::as_str)
    }

    /// The request's header fields. `now`: seconds since the epoch, the instant that a token's times count from.
    pub fn headers(&self, now: i64) -> Vec<(String, String)> {
        let body = !self.body().is_empty();
        let mut headers = self.header_list("headers", "type", body);
        let authorization = match self.fields.get("token") {
            None => self.text("authorization").map(str::to_owned),
            Some(Value::Null) => None,
            Some(claims) => Some(format!("Bearer {}", token(claims, now))),
        };
        headers.extend(authorization.map(|value| ("Authorization".to_owned(), value)));
        headers
    }

    /// The response's header fields.
    pub fn answer_headers(&self) -> Vec<(String, String)> {
        self.header_list("answer-headers", "answer-type", !self.answer().is_empty())
    }

    fn header_list(&self, key: &str, type_key: &str, body: bool) -> Vec<(String, String)> {
        let mut headers = Vec::new();
        match self.fields.get(type_key) {
            Some(Value::Null) => {}
            Some(media_type) => headers.push(("Content-Type".to_owned(), media_type.as_str().unwrap().to_owned())),
            None if body => headers.push(("Content-Type".to_owned(), "application/json".to_owned())),
            None => {}
        }
        for (name, value) in self.fields.get(key).and_then(Value::as_object).into_iter().flatten() {
            match value {
                Value::Null => {}
                Value::String(value) => headers.push((name.clone(), value.clone())),
                other => headers.push((name.clone(), other.to_string())),
            }
        }
        headers
    }

    /// The request's body.
    pub fn body(&self) -> Vec<u8> {
        self.bytes("body", "body-base64")
    }

    /// The response's body.
    pub fn answer(&self) -> Vec<u8> {
        self.bytes("answer", "answer-base64")
    }

    fn bytes(&self, key: &str, base64_key: &str) -> Vec<u8> {
        match (self.fields.get(key), self.text(base64_key)) {
            (_, Some(base64)) => BASE64_STANDARD.decode(base64).unwrap(),
            (None | Some(Value::Null), None) => Vec::new(),
            (Some(Value::String(text)), None) => text.clone().into_bytes(),
            (Some(value), None) => value.to_string().into_bytes(),
        }
    }

    /// The response's status; `None` where no response came.
    pub fn status(&self) -> Option<u16> {
        self.fields.get("status").and_then(Value::as_u64).map(|status| u16::try_from(status).unwrap())
    }

    /// Whether the exchange can be sent over a real connection to a real proxy, and judged with the defaults there.
    pub fn is_plain(&self) -> bool {
        let special = ["options", "overlay", "incomplete"];
        let noted = self.fields.get("token").and_then(|token| token.get("signature-check")).is_some();
        self.status().is_some_and(|status| status >= 200)
            && !noted
            && special.iter().all(|key| !self.fields.contains_key(*key))
    }

    /// The overlay that is laid over the contract.
    pub fn overlay(&self) -> Option<PathBuf> {
        self.text("overlay").map(|name| folder().join(name))
    }

    /// The contract, where it is not the built-in one.
    pub fn contract(&self) -> Option<PathBuf> {
        self.text("contract").map(|name| folder().join(name))
    }

    /// Whether the case is about the built-in contract as it is.
    pub fn is_built_in(&self) -> bool {
        self.overlay().is_none() && self.contract().is_none()
    }

    /// How the exchange is judged.
    pub fn options(&self) -> CheckOptions {
        let mut options = CheckOptions::default();
        for (key, value) in self.fields.get("options").and_then(Value::as_object).into_iter().flatten() {
            match key.as_str() {
                "request" => options.request = value.as_bool().unwrap(),
                "response" => options.response = value.as_bool().unwrap(),
                "auth" => options.auth = value.as_bool().unwrap(),
                "clock-skew" => options.clock_skew = Duration::from_secs(value.as_u64().unwrap()),
                "tenant-origins" => {
                    options.tenant_origins =
                        value.as_array().unwrap().iter().map(|origin| origin.as_str().unwrap().to_owned()).collect();
                }
                other => panic!("{}: no option `{other}`", self.name),
            }
        }
        options
    }

    /// The exchange, as it would be captured.
    pub fn exchange(&self) -> Exchange {
        const NOW: u32 = 1_763_726_400;
        let (method, target) = self.request();
        let headers: Headers = headers(&self.headers(i64::from(NOW)));
        let started = SystemTime::UNIX_EPOCH + Duration::from_secs(u64::from(NOW));
        let mut credential = token::decode(&headers, Some(started), self.options().clock_skew, None);
        if let Credential::Token(facts) = &mut credential {
            let check = self.fields.get("token").and_then(|token| token.get("signature-check")).and_then(Value::as_str);
            Arc::make_mut(facts).signature = SignatureCheck::from_name(check.unwrap_or("good")).unwrap();
        }
        let target = match target.split_once("://") {
            Some((scheme, rest)) => {
                let at = rest.find('/').unwrap();
                Target::new(scheme, &rest[..at], &rest[at..])
            }
            None => Target::new("https", "tenant.example", target),
        };
        Exchange {
            request: Request {
                method: http::Method::from_bytes(method.as_bytes()).unwrap(),
                target,
                version: http::Version::HTTP_11,
                headers,
                body: Body::whole(self.body()),
                credential,
            },
            response: self.status().map(|status| Response {
                status,
                version: http::Version::HTTP_11,
                headers: self::headers(&self.answer_headers()),
                body: Body::whole(self.answer()),
            }),
            started: Some(started),
            timings: Timings::default(),
            transport: Transport { incomplete: self.text("incomplete").map(str::to_owned), ..Transport::default() },
        }
    }

    /// Expected findings, each `rule at`, sorted.
    pub fn expected(&self) -> Vec<String> {
        let mut expected = self.strings("expect");
        expected.sort();
        expected
    }

    /// Expected names of `unchecked`.
    pub fn unchecked(&self) -> Vec<String> {
        self.strings("unchecked")
    }

    /// Expected blame; `None` where it is undecided.
    pub fn blame(&self) -> Option<&str> {
        self.text("blame")
    }

    /// Texts that have to stand in the messages of the findings.
    pub fn says(&self) -> Vec<String> {
        self.strings("says")
    }

    fn strings(&self, key: &str) -> Vec<String> {
        match self.fields.get(key) {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(items)) => items.iter().map(|item| item.as_str().unwrap().to_owned()).collect(),
            Some(Value::String(one)) => vec![one.clone()],
            Some(other) => panic!("{}: `{key}` cannot be {other}", self.name),
        }
    }
}

fn headers(list: &[(String, String)]) -> Headers {
    list.iter()
        .map(|(name, value)| {
            (
                http::HeaderName::from_bytes(name.to_ascii_lowercase().as_bytes()).unwrap(),
                http::HeaderValue::from_bytes(value.as_bytes()).unwrap(),
            )
        })
        .collect()
}

/// A token of these claims with a signature that is noise. `iat`, `nbf` and `exp` count seconds from `now`; `alg` and
/// `signature` (the third part as it stands) are not claims; `parts: 5` makes an encrypted one; `raw` is the whole text.
fn token(claims: &Value, now: i64) -> String {
    let mut claims = claims.as_object().expect("`token` is a mapping of claims").clone();
    if let Some(raw) = claims.get("raw").and_then(Value::as_str) {
        return raw.to_owned();
    }
    let mut take = |key: &str| claims.shift_remove(key);
    let alg = take("alg").unwrap_or_else(|| json!("RS256"));
    let signature = take("signature");
    let parts = take("parts");
    take("signature-check");
    let mut all = json!({
        "iss": "https://tenant.example/", "azp": "svc-1", "aud": "https://tenant.example/api/v2/", "iat": -60,
        "exp": 3600,
    });
    for (name, value) in claims {
        match value {
            Value::Null => _ = all.as_object_mut().unwrap().shift_remove(&name),
            value => all[&name] = value,
        }
    }
    for name in ["iat", "nbf", "exp"] {
        if let Some(seconds) = all.get(name).and_then(Value::as_i64) {
            all[name] = json!(now + seconds);
        }
    }
    let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let signature = match signature {
        Some(text) => text.as_str().unwrap().to_owned(),
        None => BASE64_URL_SAFE_NO_PAD.encode("noise that is no signature"),
    };
    if parts.is_some() {
        let header = part(&json!({"alg": "RSA-OAEP", "enc": "A256GCM"}));
        return format!("{header}.{signature}.{signature}.{signature}.{signature}");
    }
    format!("{}.{}.{signature}", part(&json!({"alg": alg, "typ": "JWT"})), part(&all))
}
