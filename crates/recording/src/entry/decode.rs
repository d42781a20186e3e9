//! From an entry of a HAR file to an [`Exchange`].
//!
//! What a producer left out is [`Withheld::NotSaved`](contrail_exchange::Withheld::NotSaved), never an empty body; a
//! header that only HTTP/2 has (`:path`) is no header; status 0 is an answer that never came.

use std::{borrow::Cow, path::PathBuf, sync::Arc, time::Duration, time::SystemTime};

use contrail_exchange::{
    Body, Credential, Exchange, Headers, Request, Response, Target, Timings, is_bodiless,
    json::{Kind, Node},
    label::is_label,
    token::{self, TokenCache, known_scheme},
};
use http::{HeaderName, HeaderValue, Method, Version};

use super::{
    EntryFault,
    decode_body::{form, in_its_charset, missing, present, stored},
    files::{BodyFiles, Expecting},
    har,
    note::{self, HeadTokens, Record},
    object::{self, Read as _, number},
};
use crate::{LaidOut, Note};

/// `startedDateTime` of every entry of a fixture, which holds no run-time.
pub(crate) const NO_INSTANT: &str = "1970-01-01T00:00:00.000Z";

/// The outcome of decoding an entry.
#[derive(Debug)]
pub(crate) enum Converted {
    /// An exchange.
    Exchange(Box<(Exchange, Option<Note>)>),
    /// Not HTTP (`data:`, `blob:`, `ws:`, a browser's own schemes), or a CONNECT, which opens a tunnel to the
    /// exchanges.
    NotHttp,
}

/// What entries of one recording share.
#[derive(Debug, Clone)]
pub(crate) struct Shared {
    /// Their body files.
    pub(crate) files: BodyFiles,
    /// Tokens that stand in their headers.
    pub(crate) tokens: Arc<TokenCache>,
    /// Tokens whose facts stand in the file's head.
    pub(crate) head: HeadTokens,
    /// The producer of the file leaves out `Authorization`, and with it cookies.
    pub(crate) strips_authorization: bool,
}

impl Shared {
    /// Body files are beside a HAR file in `folder`, or there are none.
    pub(crate) fn new(folder: Option<PathBuf>) -> Self {
        Self {
            files: BodyFiles::new(folder),
            tokens: Arc::new(TokenCache::new(Duration::ZERO, None)),
            head: HeadTokens::default(),
            strips_authorization: false,
        }
    }
}

/// What browsers save of a request that their own side ended, or whose answer they kept from the page: another page, an
/// extension, CORS, `route.abort()` of a test.
const BY_CLIENT: [&str; 3] = ["net::ERR_ABORTED", "net::ERR_FAILED", "NS_BINDING_ABORTED"];

/// Whether such a failure was the client's own.
fn is_by_client(failure: &str) -> bool {
    BY_CLIENT.contains(&failure) || failure.starts_with("net::ERR_BLOCKED_BY_")
}

/// Reads one entry from its text.
pub(crate) fn entry(text: &[u8], shared: &mut Shared) -> Result<Converted, EntryFault> {
    let files = &mut shared.files;
    let document = object::document(text).ok_or_else(|| EntryFault::Entry(unread(text)))?;
    // Where it is no object, it is another tool's.
    let own = document.root().get("_contrail").filter(|own| own.kind() == Kind::Object);
    let record = own.map(note::record).transpose()?;
    let record = record.as_ref();
    let read = har::Entry::read(document.root());
    let entry = read.map_err(|misfit| EntryFault::Entry(format!("it cannot be read ({})", har::plain(&misfit))))?;
    let request = entry.request.ok_or("it has no `request`")?;
    let Some(mut target) = target(&request)? else { return Ok(Converted::NotHttp) };
    if let Some(record) = record {
        target = target.of_upstreams(record.upstream());
        target.session = record.session();
    }
    let laid_out = record.map(Record::laid_out).unwrap_or_default();
    let started = entry.started_date_time.as_deref().and_then(instant);
    let mut response = entry.response.unwrap_or_default();
    if entry.service_worker.is_some() {
        unseen(&mut response);
    }
    let mut timings = timings(&entry.timings.unwrap_or_default());
    if record.is_none() {
        timings.before = millis(entry.time).and_then(|all| all.checked_sub(timings.total()));
    }
    // A fixture has zeros where none were kept.
    let is_kept = started.is_some() || record.is_none() || !timings.total().is_zero();
    let timings = if is_kept { timings } else { Timings::default() };

    let failure = [&response.error, &response.failure_text]
        .into_iter()
        .flatten()
        .find(|text| !text.is_empty())
        .map(|text| text.clone().into_owned());
    let (sent, answered) = match record {
        Some(record) => (record.sha256.request.as_deref(), record.sha256.response.as_deref()),
        None => (None, None),
    };
    let foreign = record.is_none();
    let mut request = self::request(request, target, &mut files.expecting(sent), laid_out, foreign)?;
    let files = &mut files.expecting(answered);
    let mut response = self::response(response, &request.method, files, laid_out, foreign)?;
    let mut transport = record.map(Record::transport).unwrap_or_default();
    if foreign {
        transport.answered_by_contrail = response.as_ref().and_then(own_answer);
    }
    if let Some(record) = record {
        record.complete(&mut request.body, false);
        if let Some(response) = &mut response {
            record.complete(&mut response.body, true);
        }
    }
    let shown = record.map_or(Ok(None), |record| record.credential(&shared.head));
    request.credential = match shown? {
        Some(credential) => credential,
        None => match started {
            Some(at) => shared.tokens.credential(&request.headers, at),
            None => timeless(token::decode(&request.headers, None, Duration::ZERO, None)),
        },
    };
    if foreign && (shared.strips_authorization || is_masked(&request)) {
        request.credential = Credential::Unknown;
    }
    // What a test answered by `route.fulfill()` is no answer of the tenant.
    let is_mocked = foreign && is_true(entry.was_fulfilled);
    if is_mocked {
        response = None;
    }
    let by_client = is_true(entry.was_aborted) || failure.as_deref().is_some_and(is_by_client);
    let is_ended = is_mocked || (foreign && by_client);
    // Playwright has the failure at each HEAD: of an answer without a body nothing was left.
    let is_over = response.as_ref().is_some_and(|response| is_bodiless(&request.method, response.status));
    if is_ended && !is_over {
        transport.client_left = true;
        if let Some(response) = &mut response {
            response.left();
        }
    }
    if transport.incomplete.is_none() && !transport.client_left && !is_ended {
        transport.incomplete = incomplete(response.as_ref(), failure);
    }
    let exchange = Exchange { request, response, started, timings, transport };
    Ok(Converted::Exchange(Box::new((exchange, record.map(Record::note)))))
}

/// Takes out the empty text of what a service worker fetched: Playwright has no access to it.
fn unseen(response: &mut har::Response<'_>) {
    if let Some(content) = &mut response.content
        && content.text.as_ref().is_none_or(|text| text.is_empty())
    {
        (content.text, content.size) = (None, None);
    }
}

fn is_true(value: Option<Node<'_>>) -> bool {
    value.is_some_and(|value| value.as_bool() == Some(true))
}

/// What keeps a text from being read as JSON, without its content.
fn unread(text: &[u8]) -> String {
    match serde_json::from_slice::<serde::de::IgnoredAny>(text) {
        Err(error) if error.is_eof() => {
            "it cannot be read (it ends in the middle; a journal has one entry per line)".to_owned()
        }
        Err(error) => {
            let (line, column) = (error.line(), error.column());
            format!("it cannot be read (it is not valid JSON from its line {line}, column {column} on)")
        }
        Ok(_) => "it cannot be read (it is not valid JSON, or beyond a limit)".to_owned(),
    }
}

/// The credential of an entry without an instant: whether a token that states bounds was inside its time is unknown.
fn timeless(credential: Credential) -> Credential {
    match credential.facts() {
        Some(facts) if facts.expires_at.or(facts.not_before).is_some() => Credential::Unknown,
        _ => credential,
    }
}

/// Whether a tool put something in the place of the credential: a label of ours, `***`, `[redacted]`.
fn is_masked(request: &Request) -> bool {
    if !matches!(request.credential, Credential::Malformed(_) | Credential::OtherScheme { .. }) {
        return false;
    }
    let Some(value) = request.headers.get_str("authorization").map(str::trim) else { return false };
    let secret = match value.split_once(' ') {
        Some((scheme, secret)) if known_scheme(scheme.as_bytes()).is_some() => secret.trim(),
        _ => value,
    };
    // Of another scheme that is named the check needs to know no more.
    let is_named = matches!(&request.credential, Credential::OtherScheme { scheme, .. } if !scheme.is_empty());
    let lower = secret.to_ascii_lowercase();
    (is_label(secret) && !is_named)
        || is_one_sign(secret)
        || ["redacted", "masked", "sanitized", "sanitised"].iter().any(|word| lower.contains(word))
}

/// Whether a text repeats one sign: `***`, `•••`. Dots have the shape of a JWT whose parts are empty.
fn is_one_sign(text: &str) -> bool {
    let mut signs = text.chars();
    signs.next().is_some_and(|first| !first.is_alphanumeric() && first != '.' && signs.all(|sign| sign == first))
}

/// Where the request went; `None` if it is no HTTP exchange.
fn target(request: &har::Request<'_>) -> Result<Option<Target>, EntryFault> {
    const NO_HOST: &str = "its URL names no host; a recording holds absolute URLs (https://host/path)";
    let url = request.url.as_deref().unwrap_or_default().trim();
    let is_method = |name: &str| request.method.as_deref() == Some(name);
    // Fiddler lists tunnels beside the requests in them.
    if is_method("CONNECT") {
        return Ok(None);
    }
    let (scheme, rest) = match url.split_once("://") {
        Some((scheme, rest)) if is_scheme(scheme) => (scheme, rest),
        _ => match url.split_once(':') {
            Some((scheme, _)) if is_scheme(scheme) && !is_http(scheme) => return Ok(None),
            _ => return Err(NO_HOST.into()),
        },
    };
    if !is_http(scheme) {
        return Ok(None);
    }
    let rest = rest.split_once('#').map_or(rest, |(rest, _)| rest);
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    // A user's name and password are no part of where it went.
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    if authority.is_empty() || authority.starts_with(':') {
        return Err(NO_HOST.into());
    }
    let path: Cow<'_, str> = match path.as_bytes().first() {
        // The URI of an asterisk form has no path (RFC 9112, section 3.3).
        None if is_method("OPTIONS") => "*".into(),
        None => "/".into(),
        Some(b'?') => format!("/{path}").into(),
        Some(_) => path.into(),
    };
    Ok(Some(Target::new(scheme.to_ascii_lowercase(), authority, path)))
}

fn is_scheme(text: &str) -> bool {
    text.as_bytes().first().is_some_and(u8::is_ascii_alphabetic)
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
}

fn is_http(scheme: &str) -> bool {
    scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
}

/// Methods that clients send in capitals whatever the code says (Fetch, "normalize"), which is what some tools save
/// (axios-har-tracker). `patch` is not among them: it goes out as it is.
const CAPITALS: [&str; 6] = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS"];

fn request(
    request: har::Request<'_>,
    target: Target,
    files: &mut Expecting<'_>,
    laid_out: LaidOut,
    foreign: bool,
) -> Result<Request, EntryFault> {
    let named = request.method.as_deref().unwrap_or_default();
    let method = CAPITALS.into_iter().find(|name| foreign && name.eq_ignore_ascii_case(named)).unwrap_or(named);
    let method =
        Method::from_bytes(method.as_bytes()).map_err(|_| EntryFault::from("its method is not an HTTP method"))?;
    let mut headers = request.headers;
    if foreign
        && !headers.contains("cookie")
        && let Some((name, value)) = request.cookies.as_deref().and_then(jar)
    {
        headers.append(name, value);
    }
    // chrome-har writes 0 where it lacks a body. One of several parts has a delimiter at least (RFC 2046, 5.1.1).
    let has_parts = foreign && headers.get_str("content-type").is_some_and(|mime| mime.starts_with("multipart/"));
    let wire_size = har::count(request.body_size).filter(|size| *size > 0 || !has_parts);
    // Chrome gives no `postData` for blobs and files, and no size.
    let unknown = wire_size.is_none() && !method.is_safe() && headers.contains("content-type");
    let mut body = match request.post_data {
        None => missing(wire_size, unknown, &headers, wire_size, foreign),
        Some(post) => {
            content_type(&mut headers, post.mime_type.as_deref());
            let own = post.own_encoding.or(post.encoding);
            match stored(post.text, own.as_deref(), post.file.as_deref(), foreign.then_some(&headers), files)? {
                Some(content) if !content.is_empty() => {
                    present(content, wire_size, &headers, wire_size, laid_out.request, foreign)
                }
                _ => match post.params.as_deref() {
                    Some(params) if !params.is_empty() => form(params, wire_size, &headers),
                    _ => missing(wire_size, false, &headers, wire_size, foreign),
                },
            }
        }
    };
    body.wire_size = wire_size.or(body.wire_size.filter(|_| foreign && body.is_whole()));
    Ok(Request {
        method,
        target,
        version: version(request.http_version.as_deref()),
        headers,
        body,
        credential: Credential::Missing,
    })
}

/// The field `Cookie` of the cookies that a file lists.
fn jar(cookies: &[har::Param<'_>]) -> Option<(HeaderName, HeaderValue)> {
    let text = |text: &Option<Cow<'_, str>>| text.as_deref().unwrap_or_default().to_owned();
    let pairs: Vec<String> =
        cookies.iter().map(|cookie| format!("{}={}", text(&cookie.name), text(&cookie.value))).collect();
    let value = HeaderValue::from_str(&pairs.join("; ")).ok().filter(|value| !value.is_empty())?;
    Some((http::header::COOKIE, value))
}

fn response(
    response: har::Response<'_>,
    method: &Method,
    files: &mut Expecting<'_>,
    laid_out: LaidOut,
    foreign: bool,
) -> Result<Option<Response>, EntryFault> {
    let Some(status) = har::count(response.status).and_then(|status| u16::try_from(status).ok()) else {
        return Ok(None);
    };
    if status == 0 {
        return Ok(None);
    }
    let mut headers = response.headers;
    let wire_size = har::count(response.body_size);
    let content = response.content.unwrap_or_default();
    let size = har::count(content.size);
    let bodiless = is_bodiless(method, status);
    let is_text = content.file.is_none() && content.encoding.is_none();
    let declared = foreign.then_some(&headers);
    let mut body = match stored(content.text, content.encoding.as_deref(), content.file.as_deref(), declared, files)? {
        Some(held) if !held.is_empty() => {
            let held = if foreign && is_text { in_its_charset(held, &headers) } else { held };
            present(held, size, &headers, wire_size, laid_out.response, foreign)
        }
        _ if bodiless => Body::default(),
        stored => {
            // Firefox counts the head into `bodySize`, so a size and a text of nothing mean nothing.
            let unsaved = stored.is_none();
            let positive = wire_size.filter(|size| *size > 0);
            // No browser shows the body of a redirection, but they know whether there was one.
            let counted = wire_size.filter(|_| (300..400).contains(&status));
            let of_nothing = || size.filter(|size| *size > 0).or(positive).or(size).or(counted);
            let size = if unsaved { of_nothing() } else { size.or(wire_size) };
            missing(size, unsaved, &headers, wire_size, foreign)
        }
    };
    if !body.is_absent() {
        content_type(&mut headers, content.mime_type.as_deref());
    }
    body.wire_size = wire_size.or(body.wire_size.filter(|_| foreign && body.is_whole()));
    Ok(Some(Response { status, version: version(response.http_version.as_deref()), headers, body }))
}

/// Fills in the type that the producer saved beside the body: as a header where it saved none at all, else as declared.
fn content_type(headers: &mut Headers, mime: Option<&str>) {
    let mime = mime.unwrap_or_default().trim();
    if matches!(mime, "" | "x-unknown") || headers.contains("content-type") {
        return;
    }
    let Ok(value) = HeaderValue::from_str(mime) else { return };
    if headers.is_empty() {
        headers.append(http::header::CONTENT_TYPE, value);
    } else if mime != "application/octet-stream" {
        // Playwright writes that where it saw no type.
        headers.declare_type(value);
    }
}

fn version(text: Option<&str>) -> Version {
    if text == Some("HTTP/1.1") {
        return Version::HTTP_11;
    }
    match text.map(str::to_ascii_lowercase).as_deref() {
        Some("http/0.9") => Version::HTTP_09,
        Some("http/1.0") => Version::HTTP_10,
        Some("h2" | "h2c" | "http/2" | "http/2.0") => Version::HTTP_2,
        Some("h3" | "http/3" | "http/3.0") => Version::HTTP_3,
        _ => Version::HTTP_11,
    }
}

/// An instant; `None` for the fixture's constant and for what is none.
fn instant(text: &str) -> Option<SystemTime> {
    if text == NO_INSTANT {
        return None;
    }
    text.trim().parse::<jiff::Timestamp>().ok().map(SystemTime::from)
}

fn timings(timings: &har::Timings<'_>) -> Timings {
    Timings { before: None, send: millis(timings.send), wait: millis(timings.wait), receive: millis(timings.receive) }
}

fn millis(value: Option<Node<'_>>) -> Option<Duration> {
    let millis = number(value?).filter(|millis| *millis >= 0.0)?;
    Duration::try_from_secs_f64(millis / 1000.0).ok()
}

/// Why contrail answered itself, if another tool recorded that: one word.
fn own_answer(response: &Response) -> Option<String> {
    let reason = response.headers.get_str("contrail-answer")?;
    let is_word = reason.len() <= 40 && reason.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    is_word.then(|| reason.to_owned())
}

/// Why the exchange is not whole, if it is not.
fn incomplete(response: Option<&Response>, failure: Option<String>) -> Option<String> {
    match (response, failure) {
        (None, None) => Some("no answer came".to_owned()),
        (_, failure) => failure,
    }
}
