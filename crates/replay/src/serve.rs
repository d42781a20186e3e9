//! A recorded response, made ready to go out.

use std::{collections::hash_map::Entry, num::NonZero, sync::Arc};

use ahash::AHashMap;
use bytes::Bytes;
use contrail_exchange::{Exchange, Headers, Presence, Withheld, digest::Digests, is_bodiless, is_hop_by_hop};
use contrail_recording as recording;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};

/// What goes to the client. Cheap to copy: answers that are alike share what they hold.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// Header fields in recorded order, repeats apart. Where there is a body, a place for its length, which is not
    /// known to those that share them.
    pub headers: Arc<HeaderMap>,
    /// The body; `None` where a response has none by definition (RFC 9110, section 6.4.1).
    pub body: Option<Bytes>,
    /// Something in it may name the tenant, which the client calls otherwise.
    pub names_tenant: bool,
}

impl Answer {
    pub(super) fn new(status: u16, headers: Arc<HeaderMap>, body: Option<Bytes>) -> Self {
        let mut texts = headers.values().map(HeaderValue::as_bytes).chain(body.as_deref());
        let names_tenant = texts.any(recording::names_tenant);
        Self { status, headers, body, names_tenant }
    }

    /// The header fields as they go out, with a `Content-Length` that is right, where there is a body.
    #[must_use]
    pub fn fields(&self) -> HeaderMap {
        let mut headers = HeaderMap::clone(&self.headers);
        if let Some(body) = &self.body {
            headers.insert(header::CONTENT_LENGTH, body.len().into());
        }
        headers
    }
}

/// An answer that is not laid out to go out yet; see [`Answer`].
#[derive(Debug)]
pub(super) struct Plain {
    status: u16,
    headers: Headers,
    body: Option<Bytes>,
}

impl Plain {
    pub(super) fn ready(self) -> Answer {
        Answer::new(self.status, Arc::new(laid_out(&self.headers)), self.body)
    }
}

fn laid_out(headers: &Headers) -> HeaderMap {
    // Room for the date, too.
    let mut map = HeaderMap::with_capacity(headers.len() + 1);
    for (name, value) in headers.iter() {
        map.append(name, value.clone());
    }
    map
}

/// An answer, and what distinguishes it from most others.
#[derive(Debug)]
pub(super) struct Digested {
    answer: Plain,
    head: u64,
    body: u64,
}

impl Digested {
    pub(super) fn new(answer: Plain, digests: &Digests) -> Self {
        let fields = answer.headers.iter().flat_map(|(name, value)| [name.as_str().as_bytes(), value.as_bytes()]);
        let head = fields.fold(digests.of(b""), |digest, text| digests.and(digest, text));
        let body = digests.of(answer.body.as_deref().unwrap_or_default());
        Self { answer, head, body }
    }
}

/// An answer among those that are kept.
pub(super) type AnswerId = NonZero<u32>;

/// Answers that are kept in memory, ready to go out, up to a bound; equal ones, equal heads and equal bodies once.
#[derive(Debug, Default)]
pub(super) struct KeptAnswers {
    answers: Vec<Answer>,
    heads: AHashMap<u64, (Headers, Arc<HeaderMap>)>,
    bodies: AHashMap<u64, Bytes>,
    /// By status, head and body.
    ids: AHashMap<(u16, u64, u64), AnswerId>,
    bytes: usize,
    /// Maximum bytes of heads and bodies that are kept, as far as they are counted.
    max_bytes: usize,
}

impl KeptAnswers {
    /// What a head takes, beside its texts, for each field.
    const FIELD: usize = 96;
    /// What an answer takes, beside its head and the text of its body.
    const ANSWER: usize = 200;

    pub(super) fn new(max_bytes: usize) -> Self {
        Self { max_bytes, ..Self::default() }
    }

    /// Where the answer is kept; `None` if there is no room for it any more.
    pub(super) fn keep(&mut self, digested: Digested) -> Option<AnswerId> {
        let Digested { answer: Plain { status, headers, body }, head, body: digest } = digested;
        // An equal digest is not taken for equality: the writer of a recording writes both.
        let headers = match self.heads.entry(head) {
            Entry::Occupied(held) if held.get().0 == headers => Arc::clone(&held.get().1),
            entry => {
                let size = |(name, value): (&HeaderName, &HeaderValue)| name.as_str().len() + value.len() + Self::FIELD;
                self.bytes += headers.iter().map(size).sum::<usize>();
                let ready = Arc::new(laid_out(&headers));
                Arc::clone(&entry.insert_entry((headers, ready)).get().1)
            }
        };
        let body = body.map(|body| match self.bodies.entry(digest) {
            Entry::Occupied(held) if *held.get() == body => held.get().clone(),
            entry => {
                self.bytes += body.len();
                entry.insert_entry(body).get().clone()
            }
        });
        if self.is_full() {
            return None;
        }
        let key = (status, head, digest);
        let same = |held: &Answer| Arc::ptr_eq(&held.headers, &headers) && held.body == body;
        if let Some(id) = self.ids.get(&key).filter(|id| same(self.get(**id))) {
            return Some(*id);
        }
        self.bytes += Self::ANSWER;
        self.answers.push(Answer::new(status, headers, body));
        let id = NonZero::new(u32::try_from(self.answers.len()).ok()?)?;
        self.ids.insert(key, id);
        Some(id)
    }

    /// An answer that is kept.
    pub(super) fn get(&self, id: AnswerId) -> &Answer {
        &self.answers[id.get() as usize - 1]
    }

    /// No further answer comes.
    pub(super) fn complete(&mut self) {
        *self = Self { answers: std::mem::take(&mut self.answers), ..Self::default() };
    }

    /// Whether there is no room for any further answer.
    pub(super) fn is_full(&self) -> bool {
        self.bytes > self.max_bytes
    }
}

/// Why an exchange is never served; `None` if it can be. `failure` says why it is not whole, `is_own` that contrail
/// recorded it.
pub(super) fn unfit(exchange: &Exchange, failure: Option<&str>, is_own: bool) -> Option<String> {
    if let Some(who) = &exchange.transport.answered_by_contrail {
        return Some(format!("contrail answered it itself ({who}), not the tenant"));
    }
    if let Some(why) = failure {
        return Some(format!("the recorded exchange is incomplete: {why}"));
    }
    let Some(response) = &exchange.response else { return Some("no answer was recorded".to_owned()) };
    if response.status == 101 {
        return Some("the recorded answer switched the protocol, and what followed was not recorded".to_owned());
    }
    if !(200..=999).contains(&response.status) {
        return Some(format!("no answer was recorded (status {})", response.status));
    }
    if is_bodiless(&exchange.request.method, response.status) {
        return None;
    }
    let left = exchange.transport.unfinished();
    let bound = if is_own { " (--max-capture)" } else { "" };
    match &response.body.presence {
        Presence::Whole => None,
        Presence::Truncated { .. } if left.is_some() => {
            left.map(|why| format!("the recorded exchange is incomplete: {why}"))
        }
        Presence::Truncated { kept, total: Some(total) } => {
            Some(format!("only {kept} of {total} bytes of the recorded answer were kept{bound}"))
        }
        Presence::Truncated { kept, total: None } => {
            Some(format!("only the first {kept} bytes of the recorded answer were kept{bound}"))
        }
        Presence::Withheld(reason) => {
            Some(format!("the body of the recorded answer is not in the recording ({})", reason.name()))
        }
    }
}

/// What helps where an exchange cannot be served.
pub(super) fn advice(exchange: &Exchange) -> &'static str {
    const AGAIN: &str = "Record it again with `contrail record --append`.";
    let Some(response) = &exchange.response else { return AGAIN };
    let is_whole = exchange.transport.unfinished().is_none() && exchange.transport.answered_by_contrail.is_none();
    match &response.body.presence {
        _ if response.status == 101 => {
            "Recording it again changes nothing: contrail records no WebSocket or other protocol after a 101. Keep \
             such requests out of a replay, or let the client fall back to plain HTTP."
        }
        Presence::Truncated { .. } if is_whole => {
            "Record it again with `contrail record --append` and a larger `--max-capture`."
        }
        Presence::Withheld(Withheld::Unparsable) => {
            "Recording it again changes nothing while the tenant answers this way: contrail keeps no body in which it \
             cannot find the secrets."
        }
        Presence::Withheld(Withheld::Undecodable) => {
            "contrail could not undo its `Content-Encoding`. Let the client send `Accept-Encoding: gzip, deflate, \
             br, zstd`, and record it again with `contrail record --append`."
        }
        Presence::Withheld(Withheld::MaxDecoded) => {
            "It decodes to more than `--max-decoded`. Record it again with `contrail record --append` and a larger \
             `--max-decoded`."
        }
        Presence::Withheld(Withheld::MaxRatio) => {
            "It decodes to more than `--max-ratio` allows. Record it again with `contrail record --append` and a \
             larger `--max-ratio`."
        }
        Presence::Withheld(Withheld::NotSaved) => {
            "The file was saved without it: export it again with bodies, or record it with `contrail record --append`."
        }
        _ => AGAIN,
    }
}

/// The answer that a recorded exchange gives.
///
/// Hop-by-hop fields and the content coding are gone (bodies are kept decoded, where they can be), `Content-Length` is
/// fresh.
pub(super) fn answer(exchange: &Exchange) -> Option<Plain> {
    let response = exchange.response.as_ref()?;
    let named: Vec<String> = response
        .headers
        .get_all("connection")
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    let coded = response.headers.contains("content-encoding");
    let head = exchange.request.method == Method::HEAD;
    let bodiless = is_bodiless(&exchange.request.method, response.status);
    let mut headers: Headers = response
        .headers
        .sent()
        .filter(|(name, _)| {
            // The answer to HEAD says how long the body would be; with a coding taken away that is no longer true.
            let stale_length = **name == header::CONTENT_LENGTH && (coded || !head);
            let undone = *name == header::TRAILER || (*name == header::CONTENT_ENCODING && !response.body.coded);
            !is_hop_by_hop(name) && !undone && !stale_length && !named.iter().any(|named| named == name.as_str())
        })
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    recording::to_distances(&mut headers, response, exchange.started);
    if !bodiless {
        headers.append(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
    }
    let body = (!bodiless).then(|| response.body.content.clone());
    Some(Plain { status: response.status, headers, body })
}
