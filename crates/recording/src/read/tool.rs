//! Other tools' recordings that are no HAR files, known by how they begin.

use std::{fs::File, io::Read as _, path::Path};

/// A tool that records HTTP exchanges, and that contrail knows the files of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tool {
    /// go-vcr, every version.
    GoVcr,
    /// vcrpy.
    Vcrpy,
    /// VCR of Ruby, and those that write its format (Betamax, php-vcr).
    Vcr,
    /// Polly.js, whose HAR files need no conversion.
    Polly,
    /// nock.
    Nock,
    /// WireMock.
    WireMock,
    /// Hoverfly.
    Hoverfly,
    /// Postman.
    Postman,
    /// mitmproxy's own format.
    Mitmproxy,
}

impl Tool {
    /// Bytes of a file that show whose it is.
    const LOOKED_AT: usize = 64 << 10;

    /// The tool that wrote a file.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let mut start = Vec::new();
        File::open(path).ok()?.take(Self::LOOKED_AT as u64).read_to_end(&mut start).ok()?;
        Self::beginning(&start)
    }

    /// The tool that wrote a file which begins like this.
    #[must_use]
    pub fn beginning(start: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(&start[..start.len().min(Self::LOOKED_AT)]);
        let text = text.trim_start_matches('\u{feff}').trim_start();
        let has = |names: &[&str]| names.iter().all(|name| text.contains(&format!("\"{name}\"")));
        match text.as_bytes().first()? {
            b'{' if first_name(text) == "log" => has(&["_recordingName"]).then_some(Self::Polly),
            b'{' if has(&["http_interactions"]) => Some(Self::Vcr),
            b'{' if has(&["interactions", "uri"]) => Some(Self::Vcrpy),
            b'{' if has(&["pairs"]) && matches!(first_name(text), "data" | "meta") => Some(Self::Hoverfly),
            b'{' if has(&["_postman_id"]) || text.contains("schema.getpostman.com") => Some(Self::Postman),
            b'{' if is_stub(text) => Some(Self::WireMock),
            b'[' if has(&["scope", "method", "path"]) => Some(Self::Nock),
            b'0'..=b'9' => is_flow(text).then_some(Self::Mitmproxy),
            _ => cassette(text),
        }
    }

    /// Whether `contrail import` reads its files.
    #[must_use]
    pub const fn is_imported(self) -> bool {
        !matches!(self, Self::Postman | Self::Mitmproxy)
    }

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::GoVcr => "go-vcr",
            Self::Vcrpy => "vcrpy",
            Self::Vcr => "VCR",
            Self::Polly => "Polly",
            Self::Nock => "nock",
            Self::WireMock => "WireMock",
            Self::Hoverfly => "Hoverfly",
            Self::Postman => "Postman",
            Self::Mitmproxy => "mitmproxy",
        }
    }

    /// What its users call one of its recordings.
    #[must_use]
    pub const fn noun(self) -> &'static str {
        if matches!(self, Self::GoVcr | Self::Vcrpy | Self::Vcr) { "cassette" } else { "recording" }
    }

    /// What a file of it is, and how its exchanges get into a fixture.
    pub(super) fn way(self) -> String {
        let name = self.name();
        match self {
            Self::Postman => format!("it is a collection of {name}, which holds requests; record while it runs"),
            Self::Mitmproxy => {
                format!("it holds flows of {name}; `mitmdump -nr FILE --set hardump=x.har` makes a HAR file of them")
            }
            _ => format!("it is a {name} {}; `contrail import` makes a fixture of it", self.noun()),
        }
    }
}

/// The name of the first member of a JSON object.
fn first_name(text: &str) -> &str {
    text[1..].trim_start().strip_prefix('"').and_then(|rest| rest.split('"').next()).unwrap_or_default()
}

/// Whether an object is a stub mapping, or several.
fn is_stub(text: &str) -> bool {
    let first =
        ["id", "name", "request", "response", "mappings", "priority", "scenarioName", "uuid", "persistent", "metadata"];
    let matchers = ["url", "urlPath", "urlPattern", "urlPathPattern", "urlPathTemplate"];
    let has = |name: &str| text.contains(&format!("\"{name}\""));
    first.contains(&first_name(text)) && has("request") && has("response") && matchers.into_iter().any(has)
}

/// Whether it is a netstring that holds netstrings: `1905:9:websocket;…`.
fn is_flow(text: &str) -> bool {
    let lengths = text.splitn(3, ':').take(2);
    let is_length = |length: &str| !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
    lengths.filter(|length| is_length(length)).count() == 2 && text.contains(';')
}

/// The tool that wrote a YAML cassette: the first members of each differ.
fn cassette(text: &str) -> Option<Tool> {
    let mut lines =
        text.lines().map(str::trim_end).filter(|line| !matches!(*line, "" | "---") && !line.starts_with('#'));
    match (lines.next()?, lines.next().unwrap_or_default()) {
        (first, _) if first.starts_with("http_interactions:") => Some(Tool::Vcr),
        (first, _) if first.starts_with("interactions:") => Some(Tool::Vcrpy),
        (first, next) if first.starts_with("version:") && next.starts_with("interactions:") => {
            // So does vcrpy of old.
            let has_uri = lines.any(|line| line.trim_start().starts_with("uri:"));
            Some(if has_uri { Tool::Vcrpy } else { Tool::GoVcr })
        }
        ("-", next) if next.trim_start() == "request:" => Some(Tool::Vcr),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_known_by_how_its_file_begins() {
        for (start, expected) in [
            ("---\nversion: 2\ninteractions:\n    - id: 0\n", Some(Tool::GoVcr)),
            ("interactions:\n- request:\n    body: null\n", Some(Tool::Vcrpy)),
            ("interactions: []\n", Some(Tool::Vcrpy)),
            ("version: 1\ninteractions:\n- request:\n    uri: http://a\n", Some(Tool::Vcrpy)),
            ("{\"version\": 1, \"interactions\": [{\"request\": {\"uri\": \"", Some(Tool::Vcrpy)),
            ("---\nhttp_interactions:\n- request:\n", Some(Tool::Vcr)),
            ("{\"http_interactions\":[", Some(Tool::Vcr)),
            ("\n-\n    request:\n        method: GET\n", Some(Tool::Vcr)),
            ("{\n  \"log\": {\n    \"_recordingName\": \"a\"", Some(Tool::Polly)),
            ("[{\"scope\":\"https://a\",\"method\":\"GET\",\"path\":\"/\"", Some(Tool::Nock)),
            ("{\"request\":{\"urlPath\":\"/a\"},\"response\":{}}", Some(Tool::WireMock)),
            ("{\"data\":{\"pairs\":[]},\"meta\":{}}", Some(Tool::Hoverfly)),
            ("{\"info\":{\"_postman_id\":\"x\"}", Some(Tool::Postman)),
            ("1905:9:websocket;0:~8:response;", Some(Tool::Mitmproxy)),
            ("{\"log\":{\"entries\":[]}}", None),
            ("{\"request\":{},\"response\":{}}", None),
            ("openapi: 3.1.0\ninfo:\n", None),
            ("version: 3\nservices:\n", None),
            ("12:30 o'clock", None),
            ("", None),
        ] {
            assert_eq!(Tool::beginning(start.as_bytes()), expected, "{start}");
        }
    }
}
