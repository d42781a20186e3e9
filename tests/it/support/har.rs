//! Small HAR files of another tool, made in the test that needs them.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};

/// The instant at which every entry was recorded, in seconds since the epoch.
pub const NOON: i64 = 1_763_726_400;

/// A policy that conforms to the document.
pub const POLICY: &str = r#"{"id":"rlp_1","resource":"oauth_authentication_api","consumer":"client","consumer_selector":"default","configuration":{"action":"allow"}}"#;

/// A JWT with these scopes that is good from a minute before [`NOON`] until `expires` (seconds since the epoch). Its
/// signature is noise.
pub fn token(scope: &str, expires: i64) -> String {
    let part = |value: Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    format!(
        "{}.{}.{}",
        part(json!({"alg": "RS256", "typ": "JWT"})),
        part(json!({
            "iss": "https://tenant.example/", "azp": "svc-1", "aud": "https://tenant.example/api/v2/",
            "iat": NOON - 60, "exp": expires, "scope": scope,
        })),
        BASE64_URL_SAFE_NO_PAD.encode("noise that is no signature"),
    )
}

/// `Bearer` and a token that may read policies.
pub fn bearer() -> String {
    format!("Bearer {}", token("read:rate_limit_policies", NOON + 3600))
}

/// A GET of `path_and_query` on the tenant, answered with this status and JSON body.
pub fn get(path_and_query: &str, authorization: Option<&str>, status: u16, body: &str) -> Value {
    let headers: Vec<Value> =
        authorization.into_iter().map(|value| json!({"name": "Authorization", "value": value})).collect();
    json!({
        "startedDateTime": "2025-11-21T12:00:00.000Z", "time": 1,
        "request": {
            "method": "GET", "url": format!("https://tenant.example{path_and_query}"), "httpVersion": "HTTP/1.1",
            "headers": headers, "queryString": [], "cookies": [], "headersSize": -1, "bodySize": 0,
        },
        "response": {
            "status": status, "statusText": "", "httpVersion": "HTTP/1.1", "cookies": [], "redirectURL": "",
            "headers": [{"name": "Content-Type", "value": "application/json"}],
            "content": {"size": body.len(), "mimeType": "application/json", "text": body},
            "headersSize": -1, "bodySize": body.len(),
        },
        "cache": {}, "timings": {"send": 0, "wait": 1, "receive": 0},
    })
}

/// A policy request that conforms.
pub fn conforming() -> Value {
    get("/api/v2/rate-limit-policies/rlp_1", Some(&bearer()), 200, POLICY)
}

/// The file of these entries.
pub fn har(entries: &[Value]) -> String {
    json!({"log": {"version": "1.2", "creator": {"name": "a tool", "version": "1"}, "entries": entries}}).to_string()
}

/// The name of a body file without the hash in it: `getThing-#-response.json`.
pub fn unhashed(name: &str) -> String {
    let is_hash = |part: &str| part.len() == 8 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    name.split('-').map(|part| if is_hash(part) { "#" } else { part }).collect::<Vec<_>>().join("-")
}

/// The body file of a folder with this name, but for the hash in it.
pub fn body_file(folder: &std::path::Path, name: &str) -> std::path::PathBuf {
    let files = std::fs::read_dir(folder).unwrap().map(|item| item.unwrap().path());
    let mut found = files.filter(|file| unhashed(file.file_name().unwrap().to_str().unwrap()) == name);
    found.next().unwrap_or_else(|| panic!("{name} is not in {}", folder.display()))
}
