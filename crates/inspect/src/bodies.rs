//! Views of a body beside its text: the items of a sequence, the parts of a multipart body, the fields of a form, an
//! image. The readers are those that judge and redact.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use contrail_contract::sequence_items;
use contrail_exchange::{
    Body,
    finding::{Kind, Unchecked, Verdict, reasons_of},
    json::pointer_tokens,
    media::{self, LineEnds},
    visible::{visible, visible_lines},
};
use serde_json::{Value, json};

use super::{
    image::Image,
    message::{Shown, Side},
};

/// Maximum items, parts or fields of one answer.
const MAX_ROWS: usize = 500;
/// Maximum bytes of the text of an item or a part.
const MAX_TEXT: usize = 16 << 10;
/// Maximum bytes of an image that is shown.
const MAX_IMAGE: usize = 3 << 20;

/// The view that a body has beside its text, if it has one.
pub(crate) fn view(essence: &str, body: &Body) -> Option<&'static str> {
    match essence {
        _ if body.content.is_empty() => None,
        _ if Image::of(&body.content).is_some() => Some("image"),
        media::FORM => Some("form"),
        _ if essence.starts_with("multipart/") => Some("parts"),
        _ if media::is_sequence(essence) && std::str::from_utf8(&body.content).is_ok() => Some("events"),
        _ => None,
    }
}

/// A part of the body in this view; `None` if it has none such.
pub(crate) fn value(message: &Shown<'_>, verdict: &Verdict, wanted: &str, from: usize, count: usize) -> Option<Value> {
    let (essence, content) = (message.essence(), &message.body.content);
    if view(&essence, message.body) != Some(wanted) {
        return None;
    }
    let count = count.min(MAX_ROWS);
    let page = |rows: Vec<Value>, size: usize| json!({"size": size, "from": from, "rows": rows});
    match wanted {
        "events" => {
            let items = sequence_items(std::str::from_utf8(content).ok()?, &essence);
            let judged = Judged::of(verdict, message.side);
            let row = |(index, fields): (usize, &Vec<(&str, String)>)| {
                let of = |name: &str| fields.iter().find(|(held, _)| *held == name).map(|(_, value)| cut(value));
                json!({"index": index, "event": of("event"), "id": of("id"), "data": of("data"),
                       "verdict": judged.of_item(index)})
            };
            let rows = items.iter().enumerate().skip(from).take(count).map(row).collect();
            Some(page(rows, items.len()))
        }
        "form" => {
            let fields: Vec<_> = media::fields(content).filter(|field| field.name.start < field.value.end).collect();
            let text = |range| cut(&String::from_utf8_lossy(&media::decoded(&content[range])));
            let rows = fields.iter().skip(from).take(count);
            let rows = rows.map(|field| json!({"name": text(field.name.clone()), "value": text(field.value.clone())}));
            Some(page(rows.collect(), fields.len()))
        }
        "parts" => {
            let content_type = message.headers.get("content-type").map_or(&[][..], http::HeaderValue::as_bytes);
            let boundary = media::parameter(content_type, "boundary").unwrap_or_default();
            let Some(found) = media::multipart(content, &boundary, LineEnds::Any) else {
                return Some(json!({"size": 0, "from": 0, "rows": [],
                                   "note": "its parts cannot be found: the boundary or the end is missing"}));
            };
            let rows = found.parts.iter().skip(from).take(count);
            Some(page(
                rows.map(|one| part(&content[one.head.clone()], &content[one.body.clone()])).collect(),
                found.parts.len(),
            ))
        }
        "image" => {
            let image = Image::of(content)?;
            let why = if content.len() > MAX_IMAGE {
                Some(format!("it has more than {MAX_IMAGE} bytes"))
            } else {
                image.refusal()
            };
            let data = why.is_none().then(|| BASE64_STANDARD.encode(content));
            Some(
                json!({"type": image.media_type, "width": image.width, "height": image.height, "why": why, "data": data}),
            )
        }
        _ => None,
    }
}

/// A text as it is shown, cut where it is long.
fn cut(text: &str) -> String {
    let end = text.floor_char_boundary(MAX_TEXT);
    let rest = if end < text.len() { "…" } else { "" };
    format!("{}{rest}", visible(&text[..end]))
}

/// A part of a multipart body.
fn part(head: &[u8], body: &[u8]) -> Value {
    let fields = media::part_fields(head);
    let field = |name: &str| fields.iter().find(|(held, _)| held == name).map(|(_, value)| &**value);
    let parameter = |name: &str| {
        let value = media::parameter(field("content-disposition")?, name)?;
        Some(visible(&String::from_utf8_lossy(&value)).into_owned())
    };
    // A text that is cut in a character is a text.
    let start = &body[..body.len().min(MAX_TEXT)];
    let text = match std::str::from_utf8(start) {
        Ok(text) => Some(text),
        Err(error) if error.error_len().is_none() => std::str::from_utf8(&start[..error.valid_up_to()]).ok(),
        Err(_) => None,
    };
    let names: Vec<Value> = fields
        .iter()
        .map(|(name, value)| json!({"name": visible(name), "value": visible(&String::from_utf8_lossy(value))}))
        .collect();
    json!({
        "name": parameter("name"),
        "file": parameter("filename"),
        "type": field("content-type").map(|value| visible(&String::from_utf8_lossy(value)).into_owned()),
        "size": body.len(),
        "headers": names,
        "text": text.map(visible_lines),
        "cut": body.len() > MAX_TEXT,
    })
}

/// What is known of the items of a sequence.
struct Judged {
    /// The kind of its worst finding, by item.
    findings: Vec<(usize, Kind)>,
    /// Items that are unchecked.
    unchecked: Vec<usize>,
    /// All of them are.
    all: bool,
}

impl Judged {
    fn of(verdict: &Verdict, side: Side) -> Self {
        let number = |at: &str| pointer_tokens(at).next().and_then(|token| token.parse().ok());
        let of_side = verdict.findings.iter().filter(|finding| finding.rule.id().starts_with(side.name()));
        let findings = of_side.filter_map(|finding| Some((number(&finding.at)?, finding.kind()))).collect();
        let is_ours = |aspect: Unchecked| match side {
            Side::Request => aspect == Unchecked::RequestBody,
            Side::Response => matches!(aspect, Unchecked::ResponseBody | Unchecked::ErrorBody),
        };
        let reasons: Vec<_> =
            reasons_of(verdict.unchecked, &verdict.reasons).filter(|reason| is_ours(reason.aspect)).collect();
        let all = verdict.operation.is_none() || reasons.iter().any(|reason| number(&reason.at).is_none());
        Self { findings, unchecked: reasons.iter().filter_map(|reason| number(&reason.at)).collect(), all }
    }

    /// The word for an item; none where nothing was found, which is not more than was checked.
    fn of_item(&self, index: usize) -> Option<&'static str> {
        let own = || self.findings.iter().filter(|(item, _)| *item == index);
        if own().any(|(_, kind)| *kind == Kind::Violation) {
            Some("violates")
        } else if own().next().is_some() {
            Some("gap")
        } else {
            (self.all || self.unchecked.contains(&index)).then_some("unchecked")
        }
    }
}
