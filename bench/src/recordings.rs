//! Recordings of a mix, made without a proxy: the same bytes in every run, as large as one asks for.
//!
//! A journal has contrail's own form (the token is gone, its facts stand beside); a HAR file is another tool's, with
//! the bearer tokens in it, on one line or laid out.

use std::{
    fs::File,
    io::{BufWriter, Write},
    path::Path,
};

use serde_json::{Value, json};

use crate::traffic::{self, Mix};

/// Which file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// contrail's journal.
    Journal,
    /// Another tool's HAR file, on one line.
    Har,
    /// The same with a line per member.
    PrettyHar,
}

impl Form {
    pub const ALL: [Self; 3] = [Self::Journal, Self::Har, Self::PrettyHar];

    pub fn name(self) -> &'static str {
        match self {
            Self::Journal => "journal",
            Self::Har => "HAR",
            Self::PrettyHar => "HAR, pretty",
        }
    }

    pub fn file_name(self) -> &'static str {
        match self {
            Self::Journal => "mix.journal",
            Self::Har => "mix.har",
            Self::PrettyHar => "pretty.har",
        }
    }
}

impl std::str::FromStr for Form {
    type Err = crate::Error;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "journal" => Ok(Self::Journal),
            "har" => Ok(Self::Har),
            "pretty" => Ok(Self::PrettyHar),
            _ => Err(format!("`{word}` is no form; expected journal, har or pretty").into()),
        }
    }
}

/// `make FORM FILE`: such a file, to look at or to profile with.
pub fn make(args: &[String]) -> Result<(), crate::Error> {
    let [form, file, options @ ..] = args else {
        return Err("make FORM FILE [--mix NAME] [--megabytes N | --entries N] [--identities N]".into());
    };
    let (mut until, mut identities, mut mix) = (Until::Bytes(256 << 20), 1, traffic::RECORDED.to_owned());
    crate::options::each(options, |name, value| {
        match name {
            "--megabytes" => until = Until::Bytes(value()?.parse::<u64>()? << 20),
            "--entries" => until = Until::Entries(value()?.parse()?),
            "--identities" => identities = value()?.parse()?,
            "--mix" => mix = value()?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let mix = Mix::for_recording(&mix, usize::MAX, identities)?;
    let entries = write(file.as_ref(), form.parse()?, until, &mix)?;
    println!("{entries} entries");
    Ok(())
}

/// When to stop.
#[derive(Clone, Copy)]
pub enum Until {
    /// At the first entry that ends beyond this many bytes.
    Bytes(u64),
    /// After this many entries.
    Entries(usize),
}

/// Writes a recording of a mix; how many entries it holds.
pub fn write(path: &Path, form: Form, until: Until, mix: &Mix) -> Result<usize, crate::Error> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let (head, between, tail): (&str, &str, &str) = match form {
        Form::Journal => ("", "\n", "\n"),
        Form::Har => {
            (r#"{"log":{"version":"1.2","creator":{"name":"contrail-bench","version":"1"},"entries":["#, ",", "]}}\n")
        }
        Form::PrettyHar => (
            "{\n  \"log\": {\n    \"version\": \"1.2\",\n    \"creator\": {\"name\": \"contrail-bench\", \"version\": \"1\"},\n    \"entries\": [\n",
            ",\n",
            "\n    ]\n  }\n}\n",
        ),
    };
    out.write_all(head.as_bytes())?;
    let (mut bytes, mut entries) = (head.len() as u64, 0);
    let is_full = |bytes, entries| match until {
        Until::Bytes(most) => bytes >= most,
        Until::Entries(most) => entries >= most,
    };
    while !is_full(bytes, entries) {
        let text = match form {
            Form::Journal => journal_entry(mix, entries),
            Form::Har => har_entry(mix, entries).to_string(),
            Form::PrettyHar => format!("{:#}", har_entry(mix, entries)),
        };
        if entries > 0 {
            out.write_all(between.as_bytes())?;
        }
        out.write_all(text.as_bytes())?;
        bytes += (text.len() + between.len()) as u64;
        entries += 1;
    }
    out.write_all(tail.as_bytes())?;
    out.flush()?;
    Ok(entries)
}

fn instant(n: usize) -> String {
    let seconds = n / 1000;
    format!(
        "2026-11-{:02}T{:02}:{:02}:{:02}.{:03}Z",
        1 + seconds / 86_400,
        seconds / 3600 % 24,
        seconds / 60 % 60,
        seconds % 60,
        n % 1000
    )
}

const TYPE: &str = "application/json; charset=utf-8";

fn headers(n: usize, request: &traffic::Request<'_>, journal: bool) -> (Value, Value) {
    let field = |name: &str, value: &str| json!({"name": name, "value": value});
    let token = if journal {
        format!("Bearer !bearer-token-{}!", n % 8 + 1)
    } else {
        format!("Bearer {}", traffic::token(n % 8))
    };
    let mut asked = vec![
        field("host", "tenant.example"),
        field("user-agent", "contrail-bench"),
        field("accept", "*/*"),
        field("authorization", &token),
    ];
    if let Some(body) = request.body {
        asked.push(field("content-type", &body.media_type));
        asked.push(field("content-length", &body.content.len().to_string()));
    }
    let answered = [
        field("content-type", TYPE),
        field("x-ratelimit-limit", "100"),
        field("x-ratelimit-remaining", "99"),
        field("x-ratelimit-reset", "1893456000"),
        field("cache-control", "private, no-store"),
        field("date", "Sat, 21 Nov 2026 06:00:00 GMT"),
    ];
    (Value::from(asked), Value::from(answered.to_vec()))
}

fn har_entry(mix: &Mix, n: usize) -> Value {
    let request = mix.request(n);
    let (sent, answer) = (request.body.map(|body| body.content.clone()).unwrap_or_default(), mix.answer(n).content);
    let (asked, answered) = headers(n, &request, false);
    let mut message = json!({"method": request.method.as_str(), "url": format!("https://tenant.example{}", request.path),
        "httpVersion": "HTTP/1.1", "cookies": [], "headers": asked, "queryString": [], "headersSize": -1,
        "bodySize": sent.len()});
    if !sent.is_empty() {
        message["postData"] = json!({"mimeType": "application/json", "text": String::from_utf8_lossy(&sent)});
    }
    json!({"startedDateTime": instant(n), "time": 1.75, "request": message,
        "response": {"status": 200, "statusText": "OK", "httpVersion": "HTTP/1.1", "cookies": [], "headers": answered,
            "content": {"size": answer.len(), "mimeType": TYPE, "text": String::from_utf8_lossy(&answer)},
            "redirectURL": "", "headersSize": -1, "bodySize": answer.len()},
        "cache": {}, "timings": {"send": 0.05, "wait": 1.5, "receive": 0.2}})
}

/// A line as contrail writes it (its members in its order, `startedDateTime` first).
fn journal_entry(mix: &Mix, n: usize) -> String {
    let request = mix.request(n);
    let (sent, answer) = (request.body.map(|body| body.content.clone()).unwrap_or_default(), mix.answer(n).content);
    let (asked, answered) = headers(n, &request, true);
    let text = |body: &[u8]| Value::from(String::from_utf8_lossy(body)).to_string();
    let post = match sent.len() {
        0 => String::new(),
        _ => format!(r#","postData":{{"mimeType":"application/json","text":{}}}"#, text(&sent)),
    };
    let unchecked = match request.method.as_str() {
        "POST" => r#"["required-scope","success-status","error-status","error-body"]"#,
        _ => "[]",
    };
    let operation = request.operation;
    let client = n % 8;
    format!(
        concat!(
            r#"{{"startedDateTime":"{started}","time":1.75,"request":{{"method":"{method}","url":"http://127.0.0.1:9{path}","#,
            r#""httpVersion":"HTTP/1.1","cookies":[],"headers":{asked},"queryString":[]{post},"headersSize":-1,"bodySize":{sent}}},"#,
            r#""response":{{"status":200,"statusText":"OK","httpVersion":"HTTP/1.1","cookies":[],"headers":{answered},"#,
            r#""content":{{"size":{size},"mimeType":"{mime}","text":{text}}},"redirectURL":"","headersSize":-1,"bodySize":{size}}},"#,
            r#""cache":{{}},"timings":{{"send":0.05,"wait":1.5,"receive":0.2}},"_contrail":{{"version":1,"operation":"{operation}","#,
            r#""verdict":"conforms","blame":"agreed","findings":[],"unchecked":{unchecked},"contract":"{contract}","#,
            r#""upstream":"http://127.0.0.1:9","token":{{"client":"client{client}","scopes":["read:rate_limit_policies","#,
            r#""read:connections","update:actions"],"issuer":"https://tenant.example/","audience":["https://tenant.example/api/v2/"],"#,
            r#""issuedAt":1700000000,"expiresAt":4102444800,"outcome":"valid"}}}}}}"#
        ),
        started = instant(n),
        method = request.method,
        path = request.path,
        asked = asked,
        post = post,
        sent = sent.len(),
        answered = answered,
        size = answer.len(),
        mime = TYPE,
        text = text(&answer),
        operation = operation,
        unchecked = unchecked,
        contract = "0".repeat(64),
        client = client,
    )
}
