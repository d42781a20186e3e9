//! Exchanges with a secret in them, in random places and codings.

use std::{fmt::Write as _, io::Write as _};

use base64::{
    Engine as _,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE},
};
use serde_json::json;

/// A fixed sequence of numbers, so that a failure comes again.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self, sides: usize) -> usize {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        usize::try_from(self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33).unwrap() % sides
    }

    /// A value that nobody would call common, of characters that codings change.
    pub fn secret(&mut self) -> String {
        let length = 16 + self.roll(30);
        let mut secret: String = (0..length)
            .map(|_| char::from(b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz23456789-_.~+/"[self.roll(62)]))
            .collect();
        write!(secret, "{}x{}", self.roll(10), self.roll(10)).unwrap();
        format!("q{secret}")
    }

    pub fn percent(&mut self, text: &str) -> String {
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

    pub fn escaped(&mut self, text: &str) -> String {
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
    pub fn coded(&mut self, secret: &str) -> String {
        match self.roll(5) {
            0 => BASE64_STANDARD.encode(format!("{}{secret}yz", ["", "x", "xy"][self.roll(3)])),
            1 => BASE64_URL_SAFE.encode(secret),
            2 => hex(secret),
            3 => self.percent(secret),
            _ => secret.to_owned(),
        }
    }
}

pub fn hex(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        write!(out, "{byte:02x}").unwrap();
        out
    })
}

pub fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

pub fn chunked(body: &[u8], dice: &mut Dice) -> Vec<u8> {
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

/// A message that is being made.
#[derive(Default)]
pub struct Draft {
    pub headers: Vec<(String, String)>,
    /// Media type and text.
    pub body: Option<(&'static str, String)>,
    chunked: bool,
    gzip: bool,
    /// The announced length is longer than what comes.
    cut: bool,
}

impl Draft {
    pub fn header(&mut self, name: &str, value: &str) {
        self.headers.push((name.to_owned(), value.to_owned()));
    }

    /// The bytes after the start line.
    pub fn bytes(&self, dice: &mut Dice) -> Vec<u8> {
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

pub const JSON: &str = "application/json";
pub const FORM: &str = "application/x-www-form-urlencoded";
pub const MULTIPART: &str = "multipart/form-data; boundary=b";

/// One exchange in which a secret is recognised somewhere and comes again elsewhere.
pub struct Exchange {
    pub target: String,
    pub request: Draft,
    pub response: Draft,
    pub status: u16,
    /// Whether the request alone tells that it is a secret.
    pub told: bool,
}

pub fn plant(secret: &str, dice: &mut Dice) -> Exchange {
    let mut target = ["/api/v2/rate-limit-policies/rlp_1", "/oauth/token/", "/somewhere"][dice.roll(3)].to_owned();
    let mut request = Draft { chunked: dice.roll(2) == 0, ..Draft::default() };
    let mut response = Draft { chunked: dice.roll(2) == 0, gzip: dice.roll(3) == 0, ..Draft::default() };
    let mut query = String::new();
    let escaped = dice.escaped(secret);
    let percent = dice.percent(secret);
    let place = dice.roll(17);
    match place {
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
        // Of a body that was cut nothing is kept.
        14 => {
            response.body = Some((JSON, format!("{{\"refresh_token\":\"{escaped}\",\"rest\":\"")));
            response.cut = true;
        }
        15 => request.body = Some((JSON, format!("{{\"client_secret\":\"{escaped}\" \"torn"))),
        _ => response.body = Some((JSON, format!("{{\"error\":\"sent Bearer {escaped}, which is not known\"}}"))),
    }
    // A secret of an unreadable body is not recognised elsewhere.
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
    Exchange { target, request, response, status, told: matches!(place, 0..=9 | 15) }
}
