//! How a parameter writes arrays and objects: `style` and `explode`.
//!
//! OpenAPI 3.1.1, section 4.8.12.2 and appendix C; RFC 6570. Where the specification defines nothing (`deepObject` with
//! an array), the conventions of clients are read, and what fits none of them is left open.

use std::borrow::Cow;

use super::{
    decode::{decode_plain, decode_query},
    value::Value,
};
use crate::schema::{Applicable, Types};

/// The style of a parameter, of a response header or of a form's field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// `a,b`
    Simple,
    /// `.a.b`
    Label,
    /// `;name=a,b`
    Matrix,
    /// `name=a,b`, or `name=a&name=b`
    Form,
    /// `name=a%20b`
    SpaceDelimited,
    /// `name=a|b`
    PipeDelimited,
    /// `name[key]=a`
    DeepObject,
    /// `name=a; name=b` (OpenAPI 3.2)
    Cookie,
}

impl Style {
    const ALL: [Self; 8] = [
        Self::Simple,
        Self::Label,
        Self::Matrix,
        Self::Form,
        Self::SpaceDelimited,
        Self::PipeDelimited,
        Self::DeepObject,
        Self::Cookie,
    ];

    /// The style of this name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|style| style.name() == name)
    }

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Simple => "simple",
            Self::Label => "label",
            Self::Matrix => "matrix",
            Self::Form => "form",
            Self::SpaceDelimited => "spaceDelimited",
            Self::PipeDelimited => "pipeDelimited",
            Self::DeepObject => "deepObject",
            Self::Cookie => "cookie",
        }
    }

    /// Whether `explode` is the default ("When style is form, the default value is true").
    pub(crate) fn explodes(self) -> bool {
        matches!(self, Self::Form | Self::Cookie | Self::DeepObject)
    }

    /// What stands between the items of a list.
    pub(crate) fn separator(self) -> char {
        match self {
            Self::SpaceDelimited => ' ',
            Self::PipeDelimited => '|',
            _ => ',',
        }
    }
}

/// An array of these texts.
pub(super) fn list<'t>(schemas: &Applicable<'_>, texts: impl IntoIterator<Item = Cow<'t, str>>) -> Value<'t> {
    let types = schemas.item().types();
    Value::List(texts.into_iter().map(|text| Value::Text(text, types)).collect())
}

/// An object of these members; `None` if a name comes twice.
fn map<'t>(schemas: &Applicable<'_>, members: Vec<(Cow<'t, str>, Cow<'t, str>)>) -> Option<Value<'t>> {
    let mut names: Vec<&str> = members.iter().map(|(name, _)| &**name).collect();
    names.sort_unstable();
    if names.windows(2).any(|pair| pair[0] == pair[1]) {
        return None;
    }
    let typed = members.into_iter().map(|(name, text)| {
        let types = schemas.member(&name).types();
        (name, Value::Text(text, types))
    });
    Some(Value::Map(typed.collect()))
}

/// A parameter's text as it was sent.
#[derive(Debug, Clone)]
pub(super) struct ParameterText<'t> {
    /// Before percent-decoding.
    pub(super) raw: &'t str,
    /// After it. A header's value is not decoded.
    pub(super) text: Cow<'t, str>,
    /// A plus sign is a space.
    pub(super) form: bool,
    /// A plus sign may be itself, too (`allowReserved`).
    pub(super) reserved: bool,
}

impl<'t> ParameterText<'t> {
    fn decode(&self, part: &'t str) -> Option<Cow<'t, str>> {
        if self.form { decode_query(part).ok() } else { decode_plain(part).ok() }
    }

    /// The same without a prefix; `None` if it does not begin with it.
    fn without(&self, prefix: &str) -> Option<Self> {
        let raw = self.raw.strip_prefix(prefix)?;
        let text = match &self.text {
            Cow::Borrowed(text) => Cow::Borrowed(text.strip_prefix(prefix)?),
            Cow::Owned(text) => Cow::Owned(text.strip_prefix(prefix)?.to_owned()),
        };
        Some(Self { raw, text, ..*self })
    }

    /// The parts between separators. A separator is sent as it is, and inside a value percent-encoded; many clients
    /// encode both.
    fn parts(&self, separator: char) -> Vec<Vec<Cow<'t, str>>> {
        let raw: Option<Vec<_>> = self.raw.split(separator).map(|part| self.decode(part.trim())).collect();
        let mut readings: Vec<Vec<Cow<'t, str>>> = raw.into_iter().collect();
        let text: Vec<Cow<'t, str>> =
            self.text.split(separator).map(|part| Cow::Owned(part.trim().to_owned())).collect();
        if !readings.contains(&text) {
            readings.push(text);
        }
        if !matches!(separator, ',' | '.') {
            // The separator has to be encoded in a URL.
            readings.reverse();
        }
        readings
    }

    /// The text as a scalar.
    fn scalars(&self, types: Types) -> Vec<Value<'t>> {
        let mut readings = vec![Value::Text(self.text.clone(), types)];
        // A sender of `style: simple` in a header, or of a plus sign under `allowReserved`, may have meant the other.
        let other = (!self.form || self.reserved).then(|| decode_plain(self.raw).ok()).flatten();
        readings.extend(other.filter(|other| *other != self.text).map(|other| Value::Text(other, types)));
        readings
    }
}

/// Whether a list is to hold lists or objects. RFC 6570, section 2.3, has a notation for lists of texts alone.
pub(super) fn nests(schemas: &Applicable<'_>) -> bool {
    schemas.types().array() && schemas.item().types().is_container()
}

/// What a text stands for in a style; `None` if it is not written in that style.
pub(super) fn value<'t>(
    style: Style,
    explode: bool,
    name: &str,
    schemas: &Applicable<'_>,
    sent: &ParameterText<'t>,
) -> Option<Value<'t>> {
    let mut readings = Vec::new();
    match style {
        Style::Label => {
            let sent = sent.without(".")?;
            // 3.0 showed the dot for both, 3.1 and RFC 6570 the comma where it is not exploded.
            let separators: &[char] = if explode { &['.'] } else { &[',', '.'] };
            readings.extend(separators.iter().flat_map(|separator| containers(schemas, &sent, *separator, explode)));
            readings.extend(scalars(schemas, &sent, readings.is_empty()));
        }
        Style::Matrix => {
            let sent = sent.without(";")?;
            let own = |part: &'t str| {
                let rest = part.strip_prefix(name)?;
                rest.strip_prefix('=').or(rest.is_empty().then_some(""))
            };
            let types = schemas.types();
            if explode && types.array() {
                let items: Option<Vec<_>> =
                    sent.raw.split(';').map(|part| own(part).and_then(|part| sent.decode(part))).collect();
                readings.extend(items.map(|items| list(schemas, items)));
            }
            if explode && types.object() {
                readings.extend(containers(schemas, &sent, ';', true));
            }
            if own(sent.raw).is_some() {
                let sent = sent.without(name)?;
                let sent = sent.without("=").unwrap_or(sent);
                if !explode {
                    readings.extend(containers(schemas, &sent, ',', false));
                }
                readings.extend(scalars(schemas, &sent, readings.is_empty()));
            }
        }
        _ => {
            readings = containers(schemas, sent, style.separator(), explode && style == Style::Simple);
            readings.extend(scalars(schemas, sent, readings.is_empty()));
        }
    }
    Value::either(readings)
}

/// A text as an array and as an object, as far as the schema allows them. `pairs`: members are `name=value`.
fn containers<'t>(schemas: &Applicable<'_>, sent: &ParameterText<'t>, separator: char, pairs: bool) -> Vec<Value<'t>> {
    let types = schemas.types();
    let mut readings = Vec::new();
    if types.array() && separator != ';' {
        if sent.text.is_empty() {
            readings.push(Value::List(Vec::new()));
        }
        readings.extend(sent.parts(separator).into_iter().map(|parts| list(schemas, parts)));
    }
    if types.object() {
        for parts in sent.parts(separator) {
            let members = if pairs { named(&parts) } else { alternating(parts) };
            readings.extend(members.and_then(|members| map(schemas, members)));
        }
    }
    readings
}

fn scalars<'t>(schemas: &Applicable<'_>, sent: &ParameterText<'t>, only: bool) -> Vec<Value<'t>> {
    let types = schemas.types();
    if only || types.scalar_or_unknown() { sent.scalars(types) } else { Vec::new() }
}

/// `name=value` texts as members.
fn named<'t>(parts: &[Cow<'t, str>]) -> Option<Vec<(Cow<'t, str>, Cow<'t, str>)>> {
    let pair = |part: &Cow<'t, str>| {
        let (name, value) = part.split_once('=')?;
        Some((Cow::Owned(name.to_owned()), Cow::Owned(value.to_owned())))
    };
    parts.iter().map(pair).collect()
}

/// Name and value in turn.
fn alternating(parts: Vec<Cow<'_, str>>) -> Option<Vec<(Cow<'_, str>, Cow<'_, str>)>> {
    if !parts.len().is_multiple_of(2) {
        return None;
    }
    let mut members = Vec::with_capacity(parts.len() / 2);
    let mut parts = parts.into_iter();
    while let (Some(name), Some(value)) = (parts.next(), parts.next()) {
        members.push((name, value));
    }
    Some(members)
}

/// An object whose members have names of their own.
pub(super) fn members_of<'t>(schemas: &Applicable<'_>, members: &'t [(Cow<'_, str>, Cow<'_, str>)]) -> Value<'t> {
    // An exploded array inside an object is a name that comes several times.
    let mut grouped: Vec<(&str, Texts<'t>)> = Vec::new();
    for (name, text) in members {
        let index = grouped.iter().position(|(held, _)| held == name).unwrap_or_else(|| {
            grouped.push((name, Texts::default()));
            grouped.len() - 1
        });
        grouped[index].1.push(text);
    }
    Value::Map(
        grouped.into_iter().map(|(name, texts)| (name.into(), repeated(&schemas.member(name), &texts))).collect(),
    )
}

/// The texts of one name, of which there is mostly one.
#[derive(Default)]
struct Texts<'t> {
    first: Option<&'t str>,
    others: Vec<&'t str>,
}

impl<'t> Texts<'t> {
    fn push(&mut self, text: &'t str) {
        match self.first {
            None => self.first = Some(text),
            Some(_) => self.others.push(text),
        }
    }

    fn iter(&self) -> impl Iterator<Item = &'t str> {
        self.first.into_iter().chain(self.others.iter().copied())
    }
}

/// What the texts of one name stand for.
fn repeated<'t>(schemas: &Applicable<'_>, texts: &Texts<'t>) -> Value<'t> {
    let types = schemas.types();
    let all = || list(schemas, texts.iter().map(Cow::Borrowed));
    match texts {
        Texts { first: Some(one), others } if others.is_empty() => {
            let one = Value::Text(Cow::Borrowed(one), types);
            if types.array() { Value::Either(vec![all(), one]) } else { one }
        }
        _ => all(),
    }
}

/// `name[a][b]=text` fields as the value that they stand for by the conventions of clients: keys nest, `[]` and numbers
/// are items. The specification defines one level of keys only.
#[derive(Default)]
pub(super) struct Deep<'t> {
    texts: Texts<'t>,
    members: Vec<(&'t str, Self)>,
}

impl<'t> Deep<'t> {
    /// Adds a field. `true` where its keys are not those that the specification defines.
    pub(super) fn insert(&mut self, keys: &[&'t str], text: &'t str) -> bool {
        let mut place = self;
        for key in keys {
            // Fields of one member mostly come one after the other.
            let index = place.members.iter().rposition(|(held, _)| held == key).unwrap_or_else(|| {
                place.members.push((key, Self::default()));
                place.members.len() - 1
            });
            place = &mut place.members[index].1;
        }
        place.texts.push(text);
        !matches!(keys, [key] if !is_index(key))
    }

    pub(super) fn value(self, schemas: &Applicable<'_>) -> Value<'t> {
        if self.members.is_empty() {
            return repeated(schemas, &self.texts);
        }
        let types = schemas.types();
        if (types.array() || !types.object()) && self.members.iter().all(|(key, _)| is_index(key)) {
            let item = schemas.item();
            let mut items = Vec::with_capacity(self.members.len());
            for (key, below) in self.members {
                // `name[]` comes once for each item.
                if key.is_empty() && below.members.is_empty() {
                    items.extend(below.texts.iter().map(|text| Value::Text(text.into(), item.types())));
                } else {
                    items.push(below.value(&item));
                }
            }
            return Value::List(items);
        }
        let members = self.members.into_iter().map(|(key, below)| {
            let value = below.value(&schemas.member(key));
            (key.into(), value)
        });
        Value::Map(members.collect())
    }
}

fn is_index(key: &str) -> bool {
    key.bytes().all(|byte| byte.is_ascii_digit())
}

/// Maximum keys of a field that are taken apart.
const MAX_KEYS: usize = 8;

/// Whether a field begins with `name[`. The bracket excludes most names without a comparison.
#[inline]
pub(crate) fn is_bracketed(name: &str, field: &str) -> bool {
    field.as_bytes().get(name.len()) == Some(&b'[') && field.starts_with(name)
}

/// Puts the keys of `name[a][b]` in place of others; `false` if it is no such name.
pub(super) fn keys<'f>(name: &str, field: &'f str, keys: &mut Vec<&'f str>) -> bool {
    keys.clear();
    let Some(mut rest) = field.get(name.len()..).filter(|_| is_bracketed(name, field)) else { return false };
    while !rest.is_empty() {
        let Some(inside) = rest.strip_prefix('[') else { return false };
        let Some(end) = inside.bytes().position(|byte| byte == b']') else { return false };
        keys.push(&inside[..end]);
        rest = &inside[end + 1..];
    }
    keys.len() <= MAX_KEYS
}
