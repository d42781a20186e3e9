//! What a recorded answer repeats of its own request (`--echo`) becomes what the live request has there.

use std::sync::Arc;

use contrail_exchange::{
    Request,
    json::{self, Document, Kind, Node},
};
use contrail_recording::{
    Ignore, Ignored,
    fixture::{
        ignore::{MIN_ECHO, agree, tokens, values_at},
        request_parts::{Content, Parts},
    },
};
use http::{HeaderName, HeaderValue};

use super::serve::Answer;

/// A value of the recorded request, and what the live one has in its place.
struct Echo<'a> {
    from: &'a Place,
    /// `None` for a header field.
    kind: Option<Kind>,
    recorded: String,
    live: String,
    /// As JSON.
    live_raw: String,
}

/// A place that a rule names.
enum Place {
    Body(Vec<String>),
    Header(HeaderName),
}

/// Puts the values of the live request into an answer; whether that changed it.
pub(super) fn apply<'a>(
    rules: impl Iterator<Item = &'a Ignore>,
    live: &Request,
    recorded: &Request,
    answer: &mut Answer,
) -> bool {
    let place = |rule: &'a Ignore| match &rule.what {
        Ignored::Pointer(pointer) => Some(Place::Body(tokens(pointer))),
        Ignored::Header(name) => Some(Place::Header(name.clone())),
        Ignored::Query(_) | Ignored::Segment(_) | Ignored::Body => None,
    };
    let places: Vec<Place> = rules.filter_map(place).collect();
    if places.is_empty() {
        return false;
    }
    let echoes = echoes(&places, live, recorded);
    let body = answer.body.as_ref().and_then(|body| of_body(&echoes, &Document::parse(body.clone()).ok()?));
    let fields = answer.headers.iter().enumerate();
    let fields: Vec<(usize, HeaderValue)> =
        fields.filter_map(|(at, (name, value))| Some((at, of_field(&echoes, name, value)?))).collect();
    let is_changed = body.is_some() || !fields.is_empty();
    if let Some(body) = body {
        answer.body = Some(body.into());
    }
    if !fields.is_empty() {
        let headers = Arc::make_mut(&mut answer.headers);
        let mut fields = fields.into_iter().peekable();
        for (at, held) in headers.values_mut().enumerate() {
            if let Some((_, value)) = fields.next_if(|(place, _)| *place == at) {
                *held = value;
            }
        }
    }
    is_changed
}

fn echoes<'a>(places: &'a [Place], live: &Request, recorded: &Request) -> Vec<Echo<'a>> {
    let mut out = Vec::new();
    let (live_body, recorded_body) = (Parts::of(live).body, Parts::of(recorded).body);
    for from in places {
        match from {
            Place::Header(name) => {
                let value = |request: &'_ Request| Some(request.headers.get_str(name.as_str())?.trim().to_owned());
                if let (Some(live), Some(recorded)) = (value(live), value(recorded)) {
                    let mut live_raw = String::new();
                    json::quote(&live, &mut live_raw);
                    out.push(Echo { from, kind: None, recorded, live, live_raw });
                }
            }
            Place::Body(pattern) => {
                let (Content::Json(live), Content::Json(recorded)) = (&live_body, &recorded_body) else { continue };
                values_at(recorded.root(), pattern, &mut |place, node| {
                    let Some(own) = live.pointer(place) else { return };
                    if let (Some(recorded), Some(live)) = (scalar(node), scalar(own)) {
                        let live_raw = own.raw().to_owned();
                        out.push(Echo { from, kind: Some(node.kind()), recorded, live, live_raw });
                    }
                });
            }
        }
    }
    out
}

/// The text of a string or a number.
fn scalar(node: Node<'_>) -> Option<String> {
    match node.kind() {
        Kind::String => node.as_str().map(Into::into),
        Kind::Number => Some(node.raw().to_owned()),
        _ => None,
    }
}

impl Echo<'_> {
    /// Whether this value of an answer repeats it; `is_there` says that it stands at the same place.
    fn is(&self, text: &str, is_there: bool) -> bool {
        text == self.recorded && (is_there || text.len() >= MIN_ECHO)
    }
}

fn of_field(echoes: &[Echo<'_>], name: &HeaderName, value: &HeaderValue) -> Option<HeaderValue> {
    let text = value.to_str().ok()?.trim();
    let is = |echo: &&Echo<'_>| echo.is(text, matches!(echo.from, Place::Header(own) if own == name));
    HeaderValue::from_str(&echoes.iter().find(is)?.live).ok()
}

fn of_body(echoes: &[Echo<'_>], document: &Document) -> Option<Vec<u8>> {
    let mut edits = Vec::new();
    walk(document.root(), &mut Vec::new(), &mut |place, node| {
        let Some(text) = scalar(node) else { return };
        let is = |echo: &&Echo<'_>| {
            let is_there = matches!(echo.from, Place::Body(own) if own.len() == place.len() && agree(own, place));
            echo.is(&text, is_there)
        };
        let Some(echo) = echoes.iter().find(is) else { return };
        let mut new = echo.live_raw.clone();
        if node.kind() == Kind::String && echo.kind != Some(Kind::String) {
            new.clear();
            json::quote(&echo.live, &mut new);
        }
        edits.push((node.span(), new.into_bytes()));
    });
    (!edits.is_empty()).then(|| json::splice(document.source(), &edits))
}

/// Every scalar with its place, in the order of the text.
fn walk<'n>(node: Node<'n>, place: &mut Vec<String>, each: &mut dyn FnMut(&[String], Node<'n>)) {
    for (name, member) in node.members() {
        place.push(name.into_owned());
        walk(member, place, each);
        place.pop();
    }
    for (at, item) in node.items().enumerate() {
        place.push(at.to_string());
        walk(item, place, each);
        place.pop();
    }
    if !matches!(node.kind(), Kind::Object | Kind::Array) {
        each(place, node);
    }
}
