//! Item 15 of what hostile traffic does, through the real proxy: secrets planted at random in every place and coding that an
//! exchange has are in no file and no line that contrail writes.

use std::{
    fmt::Write as _,
    io::Write as _,
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
};

use aho_corasick::AhoCorasick;
use base64::{
    Engine as _,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE},
};
use serde_json::json;

use crate::support::{
    command::run_in,
    process::Running,
    wire::{Origin, request, send},
};

/// Exchanges of one run.
const EXCHANGES: usize = 90;

/// A fixed sequence of numbers, so that a failure comes again.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        usize::try_from(self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33).unwrap() % sides
    }

    /// A value that nobody would call common, of characters that codings change.
    fn secret(&mut self) -> String {
        let length = 16 + self.roll(30);
        let mut secret: String = (0..length)
            .map(|_| char::from(b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz23456789-_.~+/"[self.roll(62)]))
            .collect();
        write!(secret, "{}x{}", self.roll(10), self.roll(10)).unwrap();
        format!("q{secret}")
    }

    fn percent(&mut self, text: &str) -> String {
        text.bytes().fold(String::new(), |mut out, byte| {
            let plain = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
            match self.roll(4) {
                0 => write!(out, "%{byte:02x}").unwrap(),
                _ if !plain => write!(out, "%{byte:02X}").unwrap(),
                _ => out.push(char::from(byte)),
            }
            out
        })
    }

    fn escaped(&mut self, text: &str) -> String {
        text.chars().fold(String::new(), |mut out, character| {
            match self.roll(5) {
                0 => write!(out, "\\u{:04x}", u32::from(character)).unwrap(),
                _ if character == '/' && self.roll(2) == 0 => out.push_str("\\/"),
                _ => out.push(character),
            }
            out
        })
    }

    /// The secret in a coding that a JSON string, a header and a text can hold.
    fn coded(&mut self, secret: &str) -> String {
        match self.roll(5) {
            0 => BASE64_STANDARD.encode(format!("{}{secret}yz", ["", "x", "xy"][self.roll(3)])),
            1 => BASE64_URL_SAFE.encode(secret),
            2 => hex(secret),
            3 => self.percent(secret),
            _ => secret.to_owned(),
        }
    }
}

fn hex(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        write!(out, "{byte:02x}").unwrap();
        out
    })
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

fn chunked(body: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = body;
    while !rest.is_empty() {
        let (chunk, tail) = rest.split_at(rest.len().min(1 + dice.roll(9)));
        write!(out, "{:x}\r\n", chunk.len()).unwrap();
        out.extend_from_slice(chunk);
        out.extend_from_slice(b"\r\n");
        rest = tail;
    }
    out.extend_from_slice(b"0\r\n\r\n");
    out
}

/// Every form of the secrets that somebody could find in a text, once percent and JSON escapes are undone.
struct Search {
    secrets: Vec<String>,
    forms: AhoCorasick,
    each: usize,
}

impl Search {
    fn new(secrets: &[String]) -> Self {
        let of = |secret: &String| {
            let mut forms = vec![secret.clone(), hex(secret), hex(secret).to_ascii_uppercase()];
            for before in ["", "a", "ab"] {
                // Of the characters at the rim some bits are its neighbours'.
                let text = format!("{before}{secret}");
                let (first, last) = ((before.len() * 8).div_ceil(6), text.len() * 8 / 6);
                forms.push(BASE64_STANDARD.encode(&text)[first..last].to_owned());
                forms.push(BASE64_URL_SAFE.encode(&text)[first..last].to_owned());
            }
            forms
        };
        let forms: Vec<Vec<String>> = secrets.iter().map(of).collect();
        let each = forms[0].len();
        Self { secrets: secrets.to_vec(), forms: AhoCorasick::new(forms.concat()).unwrap(), each }
    }

    fn find(&self, text: &str) -> Option<String> {
        let mut texts = vec![text.to_owned()];
        let mut looked_at = 0;
        for _ in 0..3 {
            let end = texts.len();
            for at in looked_at..end {
                let percent = percent_encoding::percent_decode_str(&texts[at]).decode_utf8_lossy().into_owned();
                let escapes = unescaped(&texts[at]);
                let new = [percent, escapes];
                texts.extend(new.into_iter().filter(|text| *text != texts[at]).collect::<Vec<_>>());
            }
            looked_at = end;
        }
        texts.iter().find_map(|text| {
            let found = self.forms.find(text)?;
            let around = text.get(found.start().saturating_sub(200)..found.end()).unwrap_or_default();
            Some(format!("{} as …{around}", self.secrets[found.pattern().as_usize() / self.each]))
        })
    }
}

fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let escape = &rest[at + 1..];
        let unit = escape.strip_prefix('u').and_then(|digits| u32::from_str_radix(digits.get(..4)?, 16).ok());
        if let Some(character) = unit.and_then(char::from_u32) {
            out.push(character);
            rest = &escape[5..];
        } else if escape.starts_with(['"', '\\', '/']) {
            out.push_str(&escape[..1]);
            rest = &escape[1..];
        } else {
            out.push('\\');
            rest = escape;
        }
    }
    out.push_str(rest);
    out
}

/// A message that is being made.
#[derive(Default)]
struct Draft {
    headers: Vec<(String, String)>,
    /// Media type and text.
    body: Option<(&'static str, String)>,
    chunked: bool,
    gzip: bool,
    /// The announced length is longer than what comes.
    cut: bool,
}

impl Draft {
    fn header(&mut self, name: &str, value: &str) {
        self.headers.push((name.to_owned(), value.to_owned()));
    }

    /// The bytes after the start line.
    fn bytes(&self, dice: &mut Dice) -> Vec<u8> {
        let mut raw = Vec::new();
        for (name, value) in &self.headers {
            write!(raw, "{name}: {value}\r\n").unwrap();
        }
        let (media, text) = self.body.clone().unwrap_or(("text/plain", String::new()));
        let mut body = text.into_bytes();
        if self.body.is_some() {
            write!(raw, "Content-Type: {media}\r\n").unwrap();
        }
        if self.gzip {
            body = gzip(&body);
            raw.extend_from_slice(b"Content-Encoding: gzip\r\n");
        }
        if self.chunked {
            raw.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
            body = chunked(&body, dice);
            if self.cut {
                body.truncate(body.len() - 5);
            }
        } else {
            write!(raw, "Content-Length: {}\r\n\r\n", body.len() + usize::from(self.cut) * 100).unwrap();
        }
        raw.extend_from_slice(&body);
        raw
    }
}

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";
const MULTIPART: &str = "multipart/form-data; boundary=b";

/// One exchange in which a secret is recognised somewhere and comes again elsewhere.
struct Exchange {
    target: String,
    request: Draft,
    response: Draft,
    status: u16,
}

fn plant(secret: &str, dice: &mut Dice) -> Exchange {
    let mut target = ["/api/v2/rate-limit-policies/rlp_1", "/oauth/token/", "/somewhere"][dice.roll(3)].to_owned();
    let mut request = Draft { chunked: dice.roll(2) == 0, ..Draft::default() };
    let mut response = Draft { chunked: dice.roll(2) == 0, gzip: dice.roll(3) == 0, ..Draft::default() };
    let mut query = String::new();
    let escaped = dice.escaped(secret);
    let percent = dice.percent(secret);
    match dice.roll(17) {
        0 => request.header("X-Api-Key", secret),
        1 => request.header("Cookie", &format!("theme=dark; sid={secret}")),
        2 => request.header("Authorization", &format!("Basic {}", BASE64_STANDARD.encode(format!("me:{secret}")))),
        3 => request.header("Authorization", &format!("Bearer {secret}")),
        4 => request.header("Authorization", secret),
        5 => request.header("Authorization", &format!("Bearer  {secret} {secret}")),
        6 => query = format!("access_token={percent}&x=1"),
        7 => request.body = Some((FORM, format!("a=1&client_secret={percent}&b=2"))),
        8 => request.body = Some((JSON, format!("{{\"a\":[{{\"client_secret\":\"{escaped}\"}}]}}"))),
        9 => {
            let part = format!("--b\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\n{secret}\r\n--b--\r\n");
            request.body = Some((MULTIPART, part));
        }
        10 => response.body = Some((JSON, format!("{{\"refresh_token\":\"{escaped}\"}}"))),
        11 => {
            response.header("Set-Cookie", &format!("sid={secret}; Path=/; HttpOnly"));
        }
        12 => response.header("Location", &format!("https://app.example/cb?id_token={percent}&state=1")),
        13 => response.header("Location", &format!("https://me:{percent}@app.example/cb")),
        // Of a body that was cut, or does not parse, nothing is kept.
        14 => {
            response.body = Some((JSON, format!("{{\"refresh_token\":\"{escaped}\",\"rest\":\"")));
            response.cut = true;
        }
        15 => request.body = Some((JSON, format!("{{\"client_secret\":\"{escaped}\" \"torn"))),
        _ => response.body = Some((JSON, format!("{{\"error\":\"sent Bearer {escaped}, which is not known\"}}"))),
    }
    // A secret of a body that nobody can read is not recognised elsewhere.
    let known = !response.cut && !matches!(&request.body, Some((_, text)) if text.ends_with("torn"));
    for _ in 0..if known { dice.roll(4) } else { 0 } {
        let coded = dice.coded(secret);
        let percent = dice.percent(&coded);
        match dice.roll(7) {
            0 => write!(target, "/{percent}").unwrap(),
            1 => write!(query, "&state={percent}").unwrap(),
            2 => request.header("X-Note", &format!("it is {coded}; ok")),
            3 => response.header("X-Debug", &format!("saw {coded}")),
            4 if response.body.is_none() => {
                let text = dice.escaped(&coded);
                response.body = Some((JSON, format!("{{\"error\":{{\"message\":\"not {text}!\"}}}}")));
            }
            5 if response.body.is_none() => response.body = Some(("text/plain", format!("bad <{coded}>\n"))),
            6 if request.body.is_none() => {
                let inner = dice.escaped(secret);
                let nested = json!({"nested": format!("{{\"inner\":\"{inner}\"}}")}).to_string();
                request.body = Some((JSON, nested));
            }
            _ => {}
        }
    }
    if !query.is_empty() {
        write!(target, "?{}", query.trim_start_matches('&')).unwrap();
    }
    let status = [200, 201, 302, 400, 401, 403, 429, 500][dice.roll(8)];
    Exchange { target, request, response, status }
}

fn every_file(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for item in std::fs::read_dir(root).unwrap() {
        let path = item.unwrap().path();
        if path.is_dir() { found.extend(every_file(&path)) } else { found.push(path) }
    }
    found
}

/// A request that contrail refuses by itself, and an upload that is given up: with the secret in them all the same.
fn misbehave(to: SocketAddr, secret: &str, dice: &mut Dice) {
    let percent = dice.percent(secret);
    for raw in [
        format!("GET /a?access_token={percent} HTTP/1.1\r\nHost: a\r\nHost: b\r\nX-Api-Key: {secret}\r\n\r\n"),
        format!(
            "POST /oauth/token/?client_secret={percent} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {secret}\r\n\
             Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"
        ),
        format!("GET /{percent} {secret} HTTP/1.1\r\nHost: a\r\nCookie: sid={secret}\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nHost: a\r\nX-Api-Key: {secret}\r\nX-Long: {}\r\n\r\n", "x".repeat(80_000)),
    ] {
        let _ = send(to, "GET", raw.as_bytes());
    }
    let mut upload = TcpStream::connect(to).unwrap();
    let head = "POST /oauth/token/ HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\n";
    write!(upload, "{head}Content-Length: 900\r\n\r\ngrant_type=x&client_secret={secret}&half=").unwrap();
}

fn holds_in(format: &str, seed: u64) {
    let mut dice = Dice(seed);
    let folder = tempfile::tempdir().unwrap();
    let origin = Origin::start();
    let upstream = format!("http://{}", origin.address);
    let proxy = Running::start(
        folder.path(),
        [
            "record",
            "--listen",
            "127.0.0.1:0",
            "--upstream",
            &upstream,
            "--out",
            "rec/",
            "--trail",
            "trail",
            "--format",
            format,
            "--report",
            "json=live.json",
            "--report",
            "html=live.html",
            "--report",
            "junit=live.xml",
            "--keep",
        ],
    );
    let mut secrets = Vec::new();
    for _ in 0..EXCHANGES {
        let secret = dice.secret();
        let exchange = plant(&secret, &mut dice);
        secrets.push(secret);
        let mut answer = format!("HTTP/1.1 {} Played\r\nConnection: close\r\n", exchange.status).into_bytes();
        answer.extend(exchange.response.bytes(&mut dice));
        origin.will_answer(answer);
        let mut raw = format!("POST {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", exchange.target, proxy.address)
            .into_bytes();
        raw.extend(exchange.request.bytes(&mut dice));
        let _ = send(proxy.address, "POST", &raw);
    }
    let journal = std::fs::read_to_string(folder.path().join("trail/trail-00000001.journal")).unwrap();
    let recorded = journal.lines().filter(|line| line.starts_with("{\"startedDateTime\"")).count();
    assert_eq!(recorded, EXCHANGES, "every exchange is in the journal");
    for _ in 0..4 {
        let secret = dice.secret();
        misbehave(proxy.address, &secret, &mut dice);
        secrets.push(secret);
    }
    // One more exchange, after what was given up.
    origin.will_answer("HTTP/1.1 204 Played\r\nConnection: close\r\n\r\n");
    let _ = send(proxy.address, "GET", &request(proxy.address, "GET", "/last", &[], b""));
    let ran = proxy.finish();
    assert!(ran.status < 2, "{}", ran.stderr);

    let packed = run_in(folder.path(), ["pack", "rec/", "--out", "one.har"]);
    assert_eq!(packed.status, 0, "{}", packed.stderr);
    let mut said = vec![("record".to_owned(), ran.stdout + &ran.stderr)];
    for command in [
        &["verify", "trail", "--format", "json"][..],
        &["verify", "rec/", "--report", "html=rec.html", "--report", "junit=rec.xml"],
        &["scan", "trail", "rec", "one.har"],
    ] {
        let ran = run_in(folder.path(), command);
        assert!(ran.status < 2, "{command:?}: {}", ran.stderr);
        said.push((command.join(" "), ran.stdout + &ran.stderr));
    }
    assert!(said[3].1.contains("no secret in"), "{}", said[3].1);
    let files = every_file(folder.path());
    assert!(files.len() > 20, "{files:?}");
    for file in files {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(&file).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{} can be read by others", file.display());
        let text = String::from_utf8_lossy(&std::fs::read(&file).unwrap()).into_owned();
        said.push((file.display().to_string(), text));
    }
    let search = Search::new(&secrets);
    for (place, text) in &said {
        assert_eq!(search.find(text), None, "in {place}");
    }
}

#[test]
fn no_planted_secret_is_in_a_line_for_people_or_in_any_file() {
    holds_in("text", 0x5EC2_E701);
}

#[test]
fn no_planted_secret_is_in_a_line_of_json_or_in_any_file() {
    holds_in("json", 0x5EC2_E702);
}

#[test]
fn the_search_finds_a_secret_in_every_form() {
    let mut dice = Dice(7);
    for _ in 0..50 {
        let secrets: Vec<String> = (0..3).map(|_| dice.secret()).collect();
        let search = Search::new(&secrets);
        for secret in &secrets {
            let coded = dice.coded(secret);
            for text in [dice.escaped(&coded), dice.percent(&coded), coded.clone()] {
                let nested = json!({ "a": format!("{{\"b\":\"<{text}>\"}}") }).to_string();
                assert!(search.find(&nested).is_some(), "{secret} in {nested}");
            }
        }
        assert_eq!(search.find(&dice.secret()), None);
    }
}
