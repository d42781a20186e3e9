//! The traffic: mixes, one data file each in `mixes/`.
//!
//! A file has a summary, its weight in the default mix, and exchanges that come in turn. In a path and in an answer
//! `{n}` stands for an id that varies, so that nothing can be answered from one cached line. In a body, `{"$times": N,
//! "of": …}` stands for N items of a list and `{"$members": N, "name": …, "of": …}` for an object of N members, each
//! with its number in place of `{i}`.

use std::{
    collections::HashMap,
    io::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use hyper::Method;
use serde_json::{Map, Value};

use crate::Error;

/// The mix of all others, by their weights.
pub const DEFAULT: &str = "default";

/// The mix of which recordings are made by default.
pub const RECORDED: &str = "recorded";

/// The mix of any contract, which `--contract` names; see [`crate::vendor`].
pub const VENDOR: &str = "vendor";

/// How many ids there are, where recordings ask for no others.
pub const IDS: usize = 100;

/// See the module; cheap to copy.
#[derive(Clone)]
pub struct Mix {
    pub name: String,
    pub summary: String,
    /// Contracts in force; the built-in one alone if there is none.
    pub contracts: Vec<PathBuf>,
    /// Scopes of the clients' tokens.
    pub scopes: String,
    exchanges: Arc<[Exchange]>,
    /// Indices into the exchanges, spread so that no kind comes in a burst.
    order: Arc<[usize]>,
    /// How many requests there are before the first comes again.
    entries: usize,
    /// How many rounds have ids of their own; with one, there are [`IDS`].
    pub identities: usize,
}

struct Exchange {
    operation: String,
    method: Method,
    path: String,
    headers: Fields,
    body: Option<Message>,
    answer: Answer,
}

/// Names and values of header fields besides those of every message.
type Fields = Vec<(String, String)>;

/// What the origin answers.
#[derive(Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: Fields,
    pub message: Message,
}

/// A body with its media type and content coding.
#[derive(Clone)]
pub struct Message {
    pub media_type: String,
    pub encoding: Option<String>,
    pub content: Bytes,
}

/// One request of a mix.
pub struct Request<'m> {
    pub operation: &'m str,
    pub method: Method,
    pub path: String,
    pub headers: &'m [(String, String)],
    pub body: Option<&'m Message>,
    /// Status of its answer.
    pub status: u16,
}

/// A mix as its file has it.
struct File {
    name: String,
    summary: String,
    weight: usize,
    contracts: Vec<PathBuf>,
    scopes: Option<String>,
    exchanges: Vec<Exchange>,
}

/// Scopes that the operations of the built-in contract need.
const SCOPES: &str = "read:rate_limit_policies read:connections update:actions";

fn path_of(name: &str) -> PathBuf {
    folder().join(format!("{name}.json"))
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("mixes")
}

impl Mix {
    /// By its name.
    pub fn named(name: &str) -> Result<Self, Error> {
        if name == VENDOR {
            return Err(
                format!("the mix `{VENDOR}` is that of a contract: `measure --mix {VENDOR} --contract FILE`").into()
            );
        }
        if name != DEFAULT {
            return Self::of(&path_of(name));
        }
        let mut files = Vec::new();
        for name in Self::names()? {
            files.push(File::read(&path_of(&name))?);
        }
        files.retain(|file| file.weight > 0);
        Ok(Self::weighted(files))
    }

    /// By its file.
    pub fn of(path: &Path) -> Result<Self, Error> {
        let mut file = File::read(path)?;
        file.weight = file.exchanges.len();
        let (name, summary) = (file.name.clone(), file.summary.clone());
        let scopes = file.scopes.clone().unwrap_or_else(|| SCOPES.to_owned());
        Ok(Self { name, summary, scopes, ..Self::weighted(vec![file]) })
    }

    /// A mix for recordings, with so many entries and identities.
    pub fn for_recording(name: &str, entries: usize, identities: usize) -> Result<Self, Error> {
        Ok(Self { entries, identities, ..Self::named(name)? })
    }

    /// The mixes that there are, but the default one and those without a weight in it.
    pub fn all() -> Result<Vec<String>, Error> {
        let names = Self::names()?.into_iter();
        Ok(names.filter(|name| File::read(&path_of(name)).is_ok_and(|file| file.weight > 0)).collect())
    }

    fn names() -> Result<Vec<String>, Error> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(folder())? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            names.extend(name.strip_suffix(".json").map(str::to_owned));
        }
        names.sort();
        Ok(names)
    }

    fn weighted(files: Vec<File>) -> Self {
        let total: usize = files.iter().map(|file| file.weight).sum();
        let shares: Vec<String> =
            files.iter().map(|file| format!("{} {} %", file.name, file.weight * 100 / total.max(1))).collect();
        let mut contracts: Vec<PathBuf> = files.iter().flat_map(|file| file.contracts.clone()).collect();
        contracts.dedup();
        // Each mix takes its turns at equal distances.
        let mut turns: Vec<(f64, usize)> = Vec::new();
        let mut exchanges: Vec<Exchange> = Vec::new();
        for file in files {
            let (first, own) = (exchanges.len(), file.exchanges.len());
            let turn = |turn: usize| ((turn as f64 + 0.5) / file.weight as f64, first + turn % own);
            turns.extend((0..file.weight).map(turn));
            exchanges.extend(file.exchanges);
        }
        turns.sort_by(|a, b| a.0.total_cmp(&b.0));
        Self {
            name: DEFAULT.to_owned(),
            summary: shares.join(", "),
            contracts,
            scopes: SCOPES.to_owned(),
            exchanges: exchanges.into(),
            order: turns.into_iter().map(|(_, exchange)| exchange).collect(),
            entries: usize::MAX,
            identities: 1,
        }
    }

    /// How many requests there are before their kinds come again.
    pub fn round(&self) -> usize {
        self.order.len()
    }

    fn exchange(&self, n: usize) -> (&Exchange, String) {
        let n = n % self.entries;
        let id = if self.identities < 2 { n % IDS } else { n / self.order.len() % self.identities };
        (&self.exchanges[self.order[n % self.order.len()]], format!("{id:018}"))
    }

    /// The `n`-th request.
    pub fn request(&self, n: usize) -> Request<'_> {
        let (exchange, id) = self.exchange(n);
        Request {
            operation: &exchange.operation,
            method: exchange.method.clone(),
            path: exchange.path.replace("{n}", &id),
            headers: &exchange.headers,
            body: exchange.body.as_ref(),
            status: exchange.answer.status,
        }
    }

    /// The answer to the `n`-th request.
    pub fn answer(&self, n: usize) -> Message {
        let (exchange, id) = self.exchange(n);
        exchange.answer.message.with_id(&id)
    }

    /// The answers to every request of every mix, or of the mix in this file.
    pub fn answers(only: Option<&Path>) -> Result<HashMap<(Method, String), Answer>, Error> {
        let mut answers = HashMap::new();
        let files = match only {
            Some(path) => vec![path.to_owned()],
            None => Self::names()?.iter().map(|name| path_of(name)).collect(),
        };
        for file in files {
            for exchange in File::read(&file)?.exchanges {
                for id in (0..IDS).map(|id| format!("{id:018}")) {
                    let asked = (exchange.method.clone(), exchange.path.replace("{n}", &id));
                    let message = exchange.answer.message.with_id(&id);
                    answers.insert(asked, Answer { message, ..exchange.answer.clone() });
                }
            }
        }
        Ok(answers)
    }
}

impl File {
    fn read(path: &Path) -> Result<Self, Error> {
        let in_file = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| in_file(&error))?;
        let file: Value = serde_json::from_str(&text).map_err(|error| in_file(&error))?;
        let list = file["exchanges"].as_array().ok_or_else(|| in_file(&"it has no `exchanges`"))?;
        let exchanges: Result<Vec<Exchange>, Error> = list.iter().map(Exchange::read).collect();
        Ok(Self {
            name: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            summary: file["summary"].as_str().unwrap_or_default().to_owned(),
            weight: usize::try_from(file["weight"].as_u64().unwrap_or_default())?,
            contracts: match file["contract"].as_str().map(|file| folder().join(file)) {
                // A contract of a mix of the bench comes in addition.
                Some(contract) if contract.starts_with(folder()) => vec!["built-in".into(), contract],
                other => other.into_iter().collect(),
            },
            scopes: file["scopes"].as_str().map(str::to_owned),
            exchanges: exchanges.map_err(|error| in_file(&error))?,
        })
    }
}

impl Exchange {
    fn read(held: &Value) -> Result<Self, Error> {
        let text =
            |key: &str| held[key].as_str().map(str::to_owned).ok_or_else(|| format!("an exchange has no `{key}`"));
        let body = held.get("body").map(Message::read).transpose()?;
        let answer = &held["answer"];
        let status = u16::try_from(answer["status"].as_u64().unwrap_or(200))?;
        let answer = Answer { status, headers: fields(answer), message: Message::read(answer)? };
        let (method, headers) = (text("method")?.parse()?, fields(held));
        Ok(Self { operation: text("operation")?, method, path: text("path")?, headers, body, answer })
    }
}

/// The member `headers`: pairs of a name and a value.
fn fields(held: &Value) -> Fields {
    let pairs = held["headers"].as_array().into_iter().flatten();
    pairs.filter_map(|pair| Some((pair[0].as_str()?.to_owned(), pair[1].as_str()?.to_owned()))).collect()
}

impl Message {
    /// `json`, the members of a `form`, the `parts` of a multipart body, or any bytes as `base64`.
    fn read(held: &Value) -> Result<Self, Error> {
        let media_type = held["type"].as_str().unwrap_or("application/json");
        let content = if let Some(value) = held.get("json") {
            expanded(value, "").to_string()
        } else if let Some(members) = held.get("form").and_then(Value::as_object) {
            let escaped = |value: &Value| -> String {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                text.bytes()
                    .map(|byte| match byte {
                        b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => char::from(byte).to_string(),
                        _ => format!("%{byte:02X}"),
                    })
                    .collect()
            };
            members.iter().map(|(name, value)| format!("{name}={}", escaped(value))).collect::<Vec<_>>().join("&")
        } else if let Some(parts) = held.get("parts").and_then(Value::as_object) {
            let boundary = media_type.split_once("boundary=").map_or("", |(_, boundary)| boundary);
            let part = |(name, text): (&String, &Value)| {
                let text = text.as_str().unwrap_or_default();
                format!("--{boundary}\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{text}\r\n")
            };
            parts.iter().map(part).collect::<String>() + &format!("--{boundary}--\r\n")
        } else if let Some(bytes) = held.get("base64").and_then(Value::as_str) {
            let content = STANDARD.decode(bytes)?.into();
            return Ok(Self { media_type: media_type.to_owned(), encoding: None, content });
        } else {
            return Err("a body has one of `json`, `form`, `parts`, `base64`".into());
        };
        let encoding = held["encoding"].as_str().map(str::to_owned);
        Ok(Self { media_type: media_type.to_owned(), encoding, content: content.into() })
    }

    fn with_id(&self, id: &str) -> Self {
        let holds_id = self.content.windows(3).any(|three| three == b"{n}");
        if !holds_id && self.encoding.is_none() {
            return self.clone();
        }
        let text = String::from_utf8_lossy(&self.content).replace("{n}", id);
        let content = match self.encoding.as_deref() {
            None => text.into(),
            // Vectors of bytes take everything.
            Some(_) => {
                let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
                let _ = gzip.write_all(text.as_bytes());
                gzip.finish().unwrap_or_default().into()
            }
        };
        Self { content, ..self.clone() }
    }
}

/// A value of a file with its repetitions; `number` is what `{i}` stands for.
fn expanded(value: &Value, number: &str) -> Value {
    let count = |held: &Value, key: &str| held.get(key).and_then(Value::as_u64);
    let nth = |n: u64, of: &Value| expanded(of, &format!("{n:04}"));
    match value {
        Value::String(text) => text.replace("{i}", number).into(),
        Value::Array(items) => {
            let times = |item: &Value| match count(item, "$times") {
                Some(times) => (0..times).map(|n| nth(n, &item["of"])).collect(),
                None => vec![expanded(item, number)],
            };
            items.iter().flat_map(times).collect()
        }
        Value::Object(members) => match count(value, "$members") {
            Some(times) => {
                let name = value["name"].as_str().unwrap_or_default();
                let member = |n| (name.replace("{i}", &format!("{n:04}")), nth(n, &value["of"]));
                Value::Object((0..times).map(member).collect::<Map<_, _>>())
            }
            None => members.iter().map(|(name, value)| (name.clone(), expanded(value, number))).collect(),
        },
        other => other.clone(),
    }
}

/// A bearer token of the built-in contract, with the scopes that are needed.
pub fn token(n: usize) -> String {
    token_with(n, SCOPES)
}

/// A bearer token (structure of a real one, signature of no key): valid until 2100.
pub fn token_with(n: usize, scopes: &str) -> String {
    let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
    let header = part(r#"{"alg":"RS256","typ":"JWT","kid":"bench"}"#);
    let claims = part(&format!(
        r#"{{"iss":"https://tenant.example/","sub":"client{n}@clients","aud":"https://tenant.example/api/v2/","iat":1700000000,"exp":4102444800,"scope":"{scopes}","gty":"client-credentials","azp":"client{n}"}}"#
    ));
    format!("{header}.{claims}.{}", URL_SAFE_NO_PAD.encode(signature(n)))
}

/// As random as a real one (a multiplicative generator's bytes), so that no part of it comes twice.
fn signature(n: usize) -> [u8; 256] {
    let mut state = n as u64 + 1;
    [(); 256].map(|()| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    })
}
