//! Lists the differences between a request and a recorded one.

use std::{collections::BTreeMap, fmt::Write as _};

use contrail_exchange::{
    Difference, graphql,
    json::{self, Care, Change, Kind, Node, push_pointer},
};
use contrail_recording::{
    IgnoreSet,
    fixture::{
        drawn::is_drawn,
        ignore::tokens,
        request_parts::{Content, Field, Pair, Parts, Value},
    },
};

use super::mask::{Mask, kind_name};

/// Longest value shown, in characters.
const MAX_SHOWN: usize = 200;

/// Every difference between a request and a recorded one, in the order method, path, query, body.
pub(super) fn differences(yours: &Parts, fixture: &Parts, mask: &Mask, ignored: &IgnoreSet) -> Vec<Difference> {
    let mut out = Vec::new();
    if yours.method != fixture.method {
        out.push(difference("method", Some(yours.method.as_str()), Some(fixture.method.as_str()), None));
    }
    let paths = (ignored.path(&yours.path), ignored.path(&fixture.path));
    if path_distance(&paths.0, &paths.1, &mask.segments) > 0 {
        let option = drawn_segment(&paths.0, &paths.1, &mask.segments).map(|at| format!("--ignore path:{at}"));
        out.push(difference("path", Some(&yours.path), Some(&fixture.path), option));
    }
    query(&yours.query, &fixture.query, mask, ignored, &mut out);
    if !mask.any_body && !ignored.body {
        body(&yours.body, &fixture.body, mask, ignored, &mut out);
    }
    out
}

/// How many path segments differ; more if there are more or fewer of them.
pub(super) fn path_distance(yours: &str, fixture: &str, masked: &[usize]) -> usize {
    let (mut left, mut right) = (yours.split('/'), fixture.split('/'));
    let mut distance = 0;
    for at in 0.. {
        match (left.next(), right.next()) {
            (None, None) => break,
            (Some(left), Some(right)) if left == right || masked.contains(&at) => {}
            (Some(_), Some(_)) => distance += 1,
            _ => distance += 2,
        }
    }
    distance
}

/// The segment in which two paths differ, if it is the only one and looks drawn by the client.
fn drawn_segment(yours: &str, fixture: &str, masked: &[usize]) -> Option<usize> {
    if path_distance(yours, fixture, masked) != 1 {
        return None;
    }
    let mut segments = yours.split('/').zip(fixture.split('/')).enumerate();
    let (at, (one, other)) = segments.find(|(at, (one, other))| one != other && !masked.contains(at))?;
    (is_drawn(one) && is_drawn(other)).then_some(at)
}

fn difference(
    place: impl Into<String>,
    yours: Option<&str>,
    fixture: Option<&str>,
    option: Option<String>,
) -> Difference {
    Difference { place: place.into(), yours: yours.map(shorten), fixture: fixture.map(shorten), option }
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        None => text.to_owned(),
        Some((cut, _)) => format!("{}…", &text[..cut]),
    }
}

fn query(yours: &[Pair], fixture: &[Pair], mask: &Mask, ignored: &IgnoreSet, out: &mut Vec<Difference>) {
    let mut names: BTreeMap<&[u8], [Vec<&[u8]>; 2]> = BTreeMap::new();
    for pair in yours {
        names.entry(&pair.name).or_default()[0].push(&pair.value);
    }
    for pair in fixture {
        names.entry(&pair.name).or_default()[1].push(&pair.value);
    }
    for (name, [left, right]) in names {
        let masked = mask.query.iter().any(|masked| masked == name) && left.len() == right.len();
        if left == right || masked || ignored.leaves_out_parameter(name) {
            continue;
        }
        let name = String::from_utf8_lossy(name);
        out.push(Difference {
            place: format!("query parameter `{name}`"),
            yours: joined(&left),
            fixture: joined(&right),
            option: Some(format!("--ignore query:{name}")),
        });
    }
}

fn joined(values: &[&[u8]]) -> Option<String> {
    if values.is_empty() {
        return None;
    }
    let texts: Vec<_> = values.iter().map(|value| String::from_utf8_lossy(value)).collect();
    Some(shorten(&texts.join(", ")))
}

fn body(yours: &Content, fixture: &Content, mask: &Mask, ignored: &IgnoreSet, out: &mut Vec<Difference>) {
    match (yours, fixture) {
        (Content::Absent, Content::Absent) => {}
        (Content::Json(left), Content::Json(right)) => {
            let masked: Vec<Vec<String>> = mask.places.iter().map(|place| tokens(place)).collect();
            values(left.root(), right.root(), &[], "", &masked, ignored, out);
        }
        (Content::Form(left), Content::Form(right)) => fields("form field", left, right, mask, ignored, out),
        (Content::Multipart(left), Content::Multipart(right)) => fields("part", left, right, mask, ignored, out),
        (Content::Bytes(left), Content::Bytes(right)) => {
            if left != right && !mask.fits(left) {
                out.push(Difference {
                    place: format!("body (from byte {} on)", common(left, right)),
                    yours: Some(format!("{} bytes", left.len())),
                    fixture: Some(format!("{} bytes", right.len())),
                    option: Some("--ignore body".to_owned()),
                });
            }
        }
        _ => out.push(difference(
            "body",
            Some(&yours.describe()),
            Some(&fixture.describe()),
            Some("--ignore body".to_owned()),
        )),
    }
}

fn fields(
    label: &'static str,
    yours: &[Field],
    fixture: &[Field],
    mask: &Mask,
    ignored: &IgnoreSet,
    out: &mut Vec<Difference>,
) {
    let mut names: BTreeMap<&[u8], (Vec<&Field>, Vec<&Field>)> = BTreeMap::new();
    for field in yours {
        names.entry(&field.name).or_default().0.push(field);
    }
    for field in fixture {
        names.entry(&field.name).or_default().1.push(field);
    }
    let masked: Vec<Vec<String>> = mask.places.iter().map(|place| tokens(place)).collect();
    for (name, (left, right)) in names {
        let name = String::from_utf8_lossy(name).into_owned();
        let place = vec![name];
        if ignored.leaves_out_place(&place) || masked.contains(&place) && left.len() == right.len() {
            continue;
        }
        for at in 0..left.len().max(right.len()) {
            let (left, right) = (left.get(at), right.get(at));
            if let (Some(one), Some(other)) = (left, right)
                && let (Value::Json(left), Value::Json(right)) = (&one.value, &other.value)
                && one.file == other.file
            {
                values(left.root(), right.root(), &place, label, &masked, ignored, out);
                continue;
            }
            let same = |one: &&Field, other: &&Field| one.text() == other.text() && one.file == other.file;
            if left.zip(right).is_some_and(|(one, other)| same(one, other)) {
                continue;
            }
            let mut words = format!("{label} `{}`", place[0]);
            let (text, other) = (left.map(|field| field_text(field)), right.map(|field| field_text(field)));
            if text == other
                && let Some((one, other)) = left.zip(right)
            {
                let _ = write!(words, " (from byte {} on)", common(one.text(), other.text()));
            }
            out.push(difference(words, text.as_deref(), other.as_deref(), Some(ignore(&place))));
        }
    }
}

/// How many bytes two texts begin with alike.
fn common(left: &[u8], right: &[u8]) -> usize {
    left.iter().zip(right).take_while(|(left, right)| left == right).count()
}

fn field_text(field: &Field) -> String {
    let text = match std::str::from_utf8(field.text()) {
        Ok(text) => text.to_owned(),
        Err(_) => format!("{} bytes", field.text().len()),
    };
    match &field.file {
        Some(file) => format!("{text} (file `{file}`)"),
        None => text,
    }
}

fn pointer(place: &[String]) -> String {
    let mut text = String::new();
    for token in place {
        push_pointer(&mut text, token);
    }
    text
}

fn ignore(place: &[String]) -> String {
    if place.is_empty() { "--ignore body".to_owned() } else { format!("--ignore pointer:{}", pointer(place)) }
}

/// Says every place at which two JSON values below `base` differ.
fn values(
    yours: Node<'_>,
    fixture: Node<'_>,
    base: &[String],
    label: &str,
    masked: &[Vec<String>],
    ignored: &IgnoreSet,
    out: &mut Vec<Difference>,
) {
    let is_masked = |place: &[String]| masked.iter().any(|masked| masked == place);
    let care = |place: &[String]| match place {
        _ if ignored.leaves_out_place(place) => Care::Nothing,
        _ if is_masked(place) => Care::Type,
        _ => Care::Value,
    };
    for Change { place, left, right } in json::changes(yours, fixture, base, &care) {
        let at = pointer(&place);
        let words = match label {
            "" if at.is_empty() => "body".to_owned(),
            "" => format!("body at `{at}`"),
            label => format!("{label} `{at}`"),
        };
        out.push(Difference {
            place: words,
            yours: left.map(show),
            fixture: right.map(|node| show_fixture(node, is_masked(&place))),
            // Without it, a request would get the answer to another one.
            option: (!is_query(&place, left, right)).then(|| ignore(&place)),
        });
    }
}

fn is_query(place: &[String], left: Option<Node<'_>>, right: Option<Node<'_>>) -> bool {
    let is_document = |node: Node<'_>| node.as_str().is_some_and(|text| graphql::is_document(&text));
    matches!(place, [name] if name == "query") && [left, right].into_iter().flatten().all(is_document)
}

fn show(node: Node<'_>) -> String {
    match node.kind() {
        Kind::Object => format!("an object of {} members", node.len()),
        Kind::Array => format!("an array of {} items", node.len()),
        _ => shorten(node.raw()),
    }
}

fn show_fixture(node: Node<'_>, masked: bool) -> String {
    if masked { format!("any {} (redacted)", kind_name(node.kind())) } else { show(node) }
}
