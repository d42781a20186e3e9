//! Answers to the page: one function from a request to a response. The API is private to the page.

use std::{convert::Infallible, io, sync::Arc};

use bytes::Bytes;
use contrail_proxy::side::{Serving, SideListener};
use contrail_redact::{JudgedExchange, Redacted};
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full, combinators::UnsyncBoxBody};
use hyper::body::Incoming;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use super::{
    assets, bodies, compare, curl, documents, exchange, fields,
    filter::FilterError,
    findings,
    groups::{self, By},
    guard::{Admitted, Guard, Refusal, harden},
    har,
    inspector::{Inspector, size},
    kept::Surroundings,
    lines::Lines,
    lists::{Lists, Sort, Wanted},
    message::{LaidOut, Shown, Side, marks},
    operations::{self, Selection},
    stream::{Notices, Streams},
    timeline, values, views,
};

/// Maximum rows of one answer.
const MAX_ROWS: usize = 500;
/// Maximum header fields that are columns; their rows have to be read.
const MAX_FIELDS: usize = 16;
/// Maximum rows of one answer with such columns.
const MAX_READ: usize = 100;
/// Maximum exchanges of one file.
const MAX_MARKED: usize = 100;
/// Maximum bytes of their bodies.
const MAX_MARKED_BYTES: usize = 64 << 20;
/// Maximum lines of one answer.
const MAX_LINES: usize = 2000;
/// Maximum bytes of text in one answer.
const MAX_TEXT: usize = 1 << 20;

/// What answers: an inspector behind a guard.
#[derive(Debug)]
pub struct Host {
    inspector: Arc<Inspector>,
    guard: Guard,
    lists: Lists,
    streams: Arc<Streams>,
    laid_out: LaidOut,
}

/// What a response carries.
type Content = UnsyncBoxBody<Bytes, Infallible>;

/// Answers on this listener, on a thread of its own, until what is given is dropped.
///
/// # Errors
///
/// The system gives no thread.
pub fn serve(listener: SideListener, host: Arc<Host>) -> io::Result<Serving> {
    listener.serve("inspect", move |request: Request<Incoming>| {
        let host = Arc::clone(&host);
        async move { host.answer(&request).await }
    })
}

/// What a request asks for, behind its path.
struct Query<'a>(&'a str);

impl Query<'_> {
    fn text(&self, name: &str) -> Option<String> {
        let value = self.0.split('&').find_map(|pair| pair.split_once('=').filter(|(held, _)| *held == name))?.1;
        Some(percent_decode_str(&value.replace('+', " ")).decode_utf8_lossy().into_owned())
    }

    fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.text(name)?.parse().ok()
    }

    fn wanted(&self) -> Result<Wanted, FilterError> {
        let sort = self.text("sort").unwrap_or_default();
        let (descending, name) = match sort.strip_prefix('-') {
            Some(name) => (true, name),
            None => (false, &*sort),
        };
        let found = Sort::from_name(name);
        let sort = found.ok_or_else(|| FilterError { at: 0, message: format!("nothing can be sorted by `{name}`") })?;
        let (query, zone) = (self.text("q").unwrap_or_default(), self.number("zone").unwrap_or(0));
        Ok(Wanted { query, sort, descending, zone })
    }
}

impl Host {
    /// One for this inspector.
    #[must_use]
    pub fn new(inspector: Arc<Inspector>, guard: Guard) -> Arc<Self> {
        Arc::new(Self {
            inspector,
            guard,
            lists: Lists::default(),
            streams: Arc::default(),
            laid_out: LaidOut::default(),
        })
    }

    /// How many pages listen.
    #[must_use]
    pub fn pages(&self) -> usize {
        self.streams.count()
    }

    async fn answer<B>(self: &Arc<Self>, request: &Request<B>) -> Response<Content> {
        let mut response = match self.guard.admit(request, |path| assets::find(path).is_some()) {
            Err(Refusal { status, message }) => error(status, message, None),
            Ok(Admitted::Shell) => match assets::find(request.uri().path()) {
                Some(asset) => content(asset.media_type, asset.content),
                None => error(StatusCode::NOT_FOUND, "there is no such file", None),
            },
            Ok(Admitted::Data) => self.data(request).await,
        };
        if response.status() == StatusCode::METHOD_NOT_ALLOWED {
            response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        }
        harden(response.headers_mut());
        // A page distinguishes this run from another one on the same port.
        if let Ok(run) = HeaderValue::from_str(&self.inspector.run) {
            response.headers_mut().insert(HeaderName::from_static("contrail-run"), run);
        }
        if *request.method() == Method::HEAD {
            *response.body_mut() = Full::default().boxed_unsync();
        }
        response
    }

    async fn data<B>(self: &Arc<Self>, request: &Request<B>) -> Response<Content> {
        let path = request.uri().path();
        if path == "/api/stream" {
            let notices = Notices::open(Arc::clone(&self.inspector), Arc::clone(&self.streams));
            let mut response = Response::new(notices.boxed_unsync());
            let events = HeaderValue::from_static("text/event-stream");
            response.headers_mut().insert(header::CONTENT_TYPE, events);
            return response;
        }
        // Long work (a search in bodies, a body of 4 MiB) does not hold up the notices of other pages.
        let (host, path) = (Arc::clone(self), path.to_owned());
        let query = request.uri().query().unwrap_or_default().to_owned();
        let work = move || host.value(&path, &Query(&query));
        match tokio::task::spawn_blocking(work).await {
            Ok(Ok(Some(value))) => json_response(StatusCode::OK, &value),
            Ok(Ok(None)) => error(StatusCode::NOT_FOUND, "there is nothing here", None),
            Ok(Err(wrong)) => error(StatusCode::BAD_REQUEST, &wrong.message, Some(wrong.at)),
            Err(_) => error(StatusCode::INTERNAL_SERVER_ERROR, "contrail failed on it; please report it", None),
        }
    }

    /// What stands at a path; `None` if nothing does.
    fn value(&self, path: &str, query: &Query<'_>) -> Result<Option<Value>, FilterError> {
        let inspector = &*self.inspector;
        inspector.catch_up();
        let steps: Vec<&str> = path.strip_prefix("/api/").unwrap_or_default().split('/').collect();
        let number = |text: &str| text.parse::<u32>().ok();
        Ok(match *steps {
            ["run"] => Some(views::run(inspector)),
            ["findings"] => Some(findings::value(inspector)),
            ["findings", "examples"] => {
                let text = |name| query.text(name).unwrap_or_default();
                let group = (&*text("rule"), &*text("at"));
                Some(findings::examples(inspector, &self.lists, &query.wanted()?, group)?)
            }
            ["misses"] => Some(views::misses(inspector)),
            ["values"] => {
                let text = |name| query.text(name).unwrap_or_default();
                Some(values::of(inspector, &text("key"), &text("begins")))
            }
            ["operations"] => {
                let is = |name| query.text(name).is_some_and(|value| value == "true");
                let text = query.text("search").unwrap_or_default().to_lowercase();
                Some(operations::value(inspector, &Selection { text, never: is("never"), gaps: is("gaps") }))
            }
            ["operations", "parts"] => Some(operations::parts(inspector, &query.text("name").unwrap_or_default())),
            ["documents", number] => {
                let (from, count) = (query.number("from").unwrap_or(0), query.number("count").unwrap_or(400));
                let (number, at) = (number.parse().ok(), query.text("at").unwrap_or_default());
                number.and_then(|number| documents::value(inspector, number, &at, from, count))
            }
            ["callers"] => Some(views::callers(inspector)),
            ["timeline"] => {
                let buckets = query.number("buckets").unwrap_or(usize::MAX);
                Some(timeline::value(inspector, &self.lists, &query.wanted()?, buckets)?)
            }
            ["compare"] => query.number("a").and_then(|a| compare::value(inspector, a, query.number("b"))),
            ["groups"] => match By::from_name(&query.text("by").unwrap_or_default()) {
                Some(by) => Some(groups::value(inspector, &self.lists, &query.wanted()?, by)?),
                None => None,
            },
            ["exchanges"] => Some(self.rows(query)?),
            ["exchanges", "at"] => {
                let n = query.number("n").unwrap_or(u32::MAX);
                Some(json!({"index": self.lists.index(inspector, &query.wanted()?, n)?}))
            }
            ["exchanges", "entry"] => {
                let (source, entry) = (query.text("source"), query.number("entry"));
                let store = inspector.store();
                let n = entry.and_then(|entry| store.number(source.as_deref(), entry));
                Some(json!({"n": n, "reading": store.reading.is_some()}))
            }
            ["exchanges", "next"] => {
                let back = query.text("back").is_some_and(|back| back == "true");
                let from = query.number("n").map(|n| (n, query.number("finding")));
                let next = self.lists.next_finding(inspector, &query.wanted()?, from, back)?;
                Some(json!({"n": next.map(|(n, _)| n), "finding": next.map(|(_, finding)| finding)}))
            }
            ["exchanges", n] => number(n).and_then(|n| exchange::value(inspector, &self.laid_out, n)),
            ["curl"] => {
                let marked = marked(inspector, query)?;
                Some(curl::value(marked.iter().map(|(judged, _)| &*judged.exchange)))
            }
            ["har"] => har::value(marked(inspector, query)?),
            ["exchanges", n, side, view] => {
                number(n).zip(Side::from_name(side)).and_then(|(n, side)| self.body(n, side, view, query))
            }
            _ => None,
        })
    }

    /// Rows of a list.
    fn rows(&self, query: &Query<'_>) -> Result<Value, FilterError> {
        let inspector = &*self.inspector;
        let from = query.number("from").unwrap_or(0);
        let columns = query.text("columns").unwrap_or_default().to_ascii_lowercase();
        let columns: Vec<&str> = columns.split(',').filter(|name| !name.is_empty()).take(MAX_FIELDS).collect();
        let most = if columns.is_empty() { MAX_ROWS } else { MAX_READ };
        let count = query.number("count").unwrap_or(60).min(most);
        let wanted = query.wanted()?;
        if query.text("anew").is_some() {
            self.lists.renew(&wanted);
        }
        let slice = self.lists.slice(inspector, &wanted, from, count)?;
        let row = |n: &u32| {
            let store = inspector.store();
            let mut row = store.row(*n, |text| inspector.clean(text))?;
            if !columns.is_empty() {
                row["fields"] = fields::of(inspector, &store, store.summary(*n)?, &columns).into();
            }
            Some(row)
        };
        let rows: Vec<Value> = slice.numbers.iter().filter_map(row).collect();
        let store = inspector.store();
        Ok(json!({
            "run": inspector.run,
            "n": store.listed(),
            "size": slice.size,
            "from": from,
            "searched": slice.searched,
            "rows": rows,
        }))
    }

    /// A part of a body, in one of its views.
    fn body(&self, n: u32, side: Side, view: &str, query: &Query<'_>) -> Option<Value> {
        let from = query.number("from").unwrap_or(0);
        let shown: Option<usize> = query.number("finding");
        if view == "lines" {
            let lines = self.lines(n, side)?;
            let count = query.number("count").unwrap_or(400).min(MAX_LINES);
            return Some(json!({"count": lines.count(), "from": from, "lines": lines.page(from, count, shown)}));
        }
        let (judged, _) = self.inspector.whole(n).ok()?;
        let count = query.number("count").unwrap_or(4096).min(MAX_TEXT);
        match view {
            "raw" => Some(Shown::of(&judged, side, &[])?.raw(from, count)),
            "events" | "form" | "parts" | "image" => {
                bodies::value(&Shown::of(&judged, side, &[])?, &judged.verdict, view, from, count)
            }
            "hex" => Some(Shown::of(&judged, side, &marks(&judged))?.hex(from, count.min(MAX_TEXT / 16), shown)),
            _ => None,
        }
    }

    fn lines(&self, n: u32, side: Side) -> Option<Arc<Lines>> {
        let key = (n, side, self.inspector.known());
        self.laid_out.get(key).or_else(|| {
            let (judged, _) = self.inspector.whole(n).ok()?;
            Some(self.laid_out.lines(key, &Shown::of(&judged, side, &marks(&judged))?))
        })
    }
}

/// The exchanges that a request names.
fn marked(
    inspector: &Inspector,
    query: &Query<'_>,
) -> Result<Vec<(Redacted<JudgedExchange>, Surroundings)>, FilterError> {
    let refused = |message: String| FilterError { at: 0, message };
    let text = query.text("n").unwrap_or_default();
    let numbers: Vec<&str> = text.split(',').collect();
    if numbers.len() > MAX_MARKED {
        return Err(refused(format!("contrail takes {MAX_MARKED} exchanges at once; unmark some")));
    }
    let mut bytes = 0;
    let mut whole = Vec::new();
    for number in numbers {
        let found = number.parse().ok().and_then(|n| inspector.whole(n).ok());
        let found = found.ok_or_else(|| refused(format!("the bytes of no. {number} are gone")))?;
        bytes += size(&found.0);
        if bytes > MAX_MARKED_BYTES {
            return Err(refused("these exchanges are larger than 64 MiB; unmark some".to_owned()));
        }
        whole.push(found);
    }
    Ok(whole)
}

fn content(media_type: &'static str, body: impl Into<Bytes>) -> Response<Content> {
    let mut response = Response::new(Full::new(body.into()).boxed_unsync());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

fn json_response(status: StatusCode, value: &Value) -> Response<Content> {
    let mut response = content("application/json", value.to_string());
    *response.status_mut() = status;
    response
}

fn error(status: StatusCode, message: &str, at: Option<usize>) -> Response<Content> {
    json_response(status, &json!({"error": message, "at": at}))
}
