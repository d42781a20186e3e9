//! Rules that two recordings of one run suggest: places that differ though nothing else does, and look drawn.

use std::collections::{HashMap, VecDeque};

use contrail_exchange::{
    Request,
    json::{Kind, Node, push_pointer},
    label,
};
use contrail_recording::{
    Ignore, Ignored, Scope,
    fixture::{
        drawn::{is_counter, is_drawn},
        request_parts::{Content, Field, Parts, Value},
    },
};
use http::HeaderName;

/// Maximum depth of the places that are compared one by one.
const MAX_DEPTH: usize = 64;

/// A recorded request, redacted and without what differs with each run.
#[derive(Debug)]
pub struct Asked {
    /// Its documented operation.
    pub operation: Option<String>,
    /// The request.
    pub request: Request,
    /// Its place among those of its method and path, if the recording states one.
    pub order: Option<u32>,
}

/// What two recordings suggest.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Suggested {
    /// Each once, in the order of the first recording.
    pub rules: Vec<Ignore>,
    /// Requests of each that the other one lacks.
    pub alone: [usize; 2],
}

/// A value of a request.
struct Leaf {
    /// Where exactly.
    place: String,
    /// The rule that would leave it out; `None` where none can.
    rule: Option<Ignored>,
    text: String,
    /// A header field, which makes no miss.
    of_header: bool,
}

/// Pairs the requests of two recordings: first those that differ in what looks drawn only, then in numbers, too.
#[must_use]
pub fn suggest(mut a: Vec<Asked>, mut b: Vec<Asked>) -> Suggested {
    let mut suggested = Suggested::default();
    for list in [&mut a, &mut b] {
        list.sort_by_key(|asked| asked.order.unwrap_or(0));
    }
    let is_number = |text: &str| is_drawn(text) || is_counter(text);
    for is_loose in [&is_drawn as &dyn Fn(&str) -> bool, &is_number] {
        let mut others: HashMap<Vec<String>, VecDeque<usize>> = HashMap::new();
        for (at, other) in b.iter().enumerate() {
            others.entry(key(other, is_loose)).or_default().push_back(at);
        }
        let mut taken = vec![false; b.len()];
        a.retain(|asked| {
            let Some(at) = others.get_mut(&key(asked, is_loose)).and_then(VecDeque::pop_front) else { return true };
            taken[at] = true;
            compare(asked, &b[at], is_loose, &mut suggested.rules);
            false
        });
        let mut taken = taken.into_iter();
        b.retain(|_| taken.next() != Some(true));
    }
    suggested.alone = [a.len(), b.len()];
    suggested
}

fn compare(one: &Asked, other: &Asked, is_loose: &dyn Fn(&str) -> bool, rules: &mut Vec<Ignore>) {
    let request = &one.request;
    let scope = Scope::of(one.operation.as_deref(), request.method.as_str(), request.target.path());
    let others: HashMap<String, String> =
        leaves(&other.request).into_iter().map(|leaf| (leaf.place, leaf.text)).collect();
    for leaf in leaves(request) {
        let Some((what, text)) = leaf.rule.zip(others.get(&leaf.place)) else { continue };
        let is_loose = |text: &str| is_loose(text) && (!leaf.of_header || is_drawn(text));
        let rule = Ignore { scope: Some(scope.clone()), what };
        if *text != leaf.text && is_loose(text) && is_loose(&leaf.text) && !rules.contains(&rule) {
            rules.push(rule);
        }
    }
}

/// What two requests have in common that differ in loose values only.
fn key(asked: &Asked, is_loose: &dyn Fn(&str) -> bool) -> Vec<String> {
    let leaves = leaves(&asked.request).into_iter().filter(|leaf| !leaf.of_header);
    let text = |leaf: Leaf| {
        let text = if is_loose(&leaf.text) && leaf.rule.is_some() { "*".to_owned() } else { leaf.text };
        format!("{} {text}", leaf.place)
    };
    leaves.map(text).collect()
}

fn leaves(request: &Request) -> Vec<Leaf> {
    let parts = Parts::of(request);
    let mut out = Vec::new();
    let mut push = |place: String, rule: Option<Ignored>, text: String, of_header: bool| {
        // What stands for a secret has another number in each recording.
        let text = label::unnumbered(&text);
        out.push(Leaf { place, rule, text, of_header });
    };
    push("line".to_owned(), None, format!("{} {}", parts.method, parts.site), false);
    for (at, segment) in parts.path.split('/').enumerate().skip(1) {
        push(format!("path:{at}"), Some(Ignored::Segment(at)), segment.to_owned(), false);
    }
    for pair in &parts.query {
        let name = String::from_utf8_lossy(&pair.name).into_owned();
        let text = String::from_utf8_lossy(&pair.value).into_owned();
        push(format!("query:{name}"), Some(Ignored::Query(name)), text, false);
    }
    for (name, value) in request.headers.iter().filter(|(name, _)| is_listed(name)) {
        let text = String::from_utf8_lossy(value.as_bytes()).into_owned();
        push(format!("header:{name}"), Some(Ignored::Header(name.clone())), text, true);
    }
    let mut of_body = |place: &str, pattern: &str, text: String| {
        let rule = if pattern.is_empty() { Ignored::Body } else { Ignored::Pointer(pattern.to_owned()) };
        push(format!("pointer:{place}"), Some(rule), text, false);
    };
    match &parts.body {
        Content::Absent => {}
        Content::Unseen(why) => of_body("", "", why.clone()),
        Content::Json(document) => values(document.root(), "", "", &mut of_body),
        Content::Form(fields) | Content::Multipart(fields) => {
            for Field { name, value, .. } in fields {
                let mut place = String::new();
                push_pointer(&mut place, &String::from_utf8_lossy(name));
                match value {
                    Value::Bytes(bytes) => of_body(&place, &place, String::from_utf8_lossy(bytes).into_owned()),
                    Value::Json(document) => values(document.root(), &place, &place, &mut of_body),
                }
            }
        }
        Content::Bytes(bytes) => of_body("", "", String::from_utf8_lossy(bytes).into_owned()),
    }
    out
}

/// Whether a header field is compared: it describes neither the body nor the host, and holds no credential.
fn is_listed(name: &HeaderName) -> bool {
    !matches!(name.as_str(), "content-type" | "content-length" | "host" | "cookie" | "authorization")
}

/// The scalars of a document, each with its place and the pattern of it: `*` stands for any item.
fn values(node: Node<'_>, place: &str, pattern: &str, each: &mut dyn FnMut(&str, &str, String)) {
    let below = |token: &str, shown: &str| {
        let (mut place, mut pattern) = (place.to_owned(), pattern.to_owned());
        push_pointer(&mut place, token);
        push_pointer(&mut pattern, shown);
        (place, pattern)
    };
    let is_walked = !node.is_empty() && place.matches('/').count() < MAX_DEPTH;
    match node.kind() {
        Kind::Object if is_walked => {
            let mut members: Vec<_> = node.members().collect();
            members.sort_by(|left, right| left.0.cmp(&right.0));
            for (name, value) in members {
                let (place, pattern) = below(&name, &name);
                values(value, &place, &pattern, each);
            }
        }
        Kind::Array if is_walked => {
            for (at, value) in node.items().enumerate() {
                let (place, pattern) = below(&at.to_string(), "*");
                values(value, &place, &pattern, each);
            }
        }
        // What is deeper counts as one.
        _ => each(place, pattern, node.as_str().unwrap_or_else(|| node.raw().into()).into_owned()),
    }
}
