//! How a parameter writes arrays and objects: `style` and `explode`.
//!
//! OpenAPI 3.1.1, section 4.8.12.2 and appendix C; RFC 6570. Where the specification defines nothing (`deepObject` with
//! an array), the conventions of clients are read, and what fits none of them is left open.

use std::borrow::Cow;

use super::{
    decode::{decode_plain, decode_query},
    value::Value,
};
use crate::contract::schema::{Schema, Types};

/// The style of a parameter, of a response header or of a form's field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
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
    pub(in crate::contract) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|style| style.name() == name)
    }

    /// Its name.
    pub(in crate::contract) fn name(self) -> &'static str {
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
    pub(in crate::contract) fn explodes(self) -> bool {
        matches!(self, Self::Form | Self::Cookie | Self::DeepObject)
    }

    fn separator(self) -> char {
        match self {
            Self::SpaceDelimited => ' ',
            Self::PipeDelimited => '|',
            _ => ',',
        }
    }
}

/// Types of a value and of what is in it, by its schema.
pub(super) struct Shape<'s> {
    schema: &'s Schema,
    /// A form's field: the schema is that of the whole form.
    field: Option<&'s str>,
}

impl<'s> Shape<'s> {
    pub(super) fn of(schema: &'s Schema) -> Self {
        Self { schema, field: None }
    }

    pub(super) fn of_field(schema: &'s Schema, name: &'s str) -> Self {
        Self { schema, field: Some(name) }
    }

    pub(super) fn types(&self) -> Types {
        self.field.map_or_else(|| self.schema.types(), |name| self.schema.member_types(name))
    }

    fn item(&self) -> Types {
        if self.field.is_some() { Types::default() } else { self.schema.item_types() }
    }

    fn member(&self, name: &str) -> Types {
        if self.field.is_some() { Types::default() } else { self.schema.member_types(name) }
    }

    /// An array of these texts.
    pub(super) fn list<'t>(&self, texts: impl IntoIterator<Item = Cow<'t, str>>) -> Value<'t> {
        let types = self.item();
        Value::List(texts.into_iter().map(|text| Value::Text(text, types)).collect())
    }

    /// An object of these members; `None` if a name comes twice.
    fn map<'t>(&self, members: Vec<(Cow<'t, str>, Cow<'t, str>)>) -> Option<Value<'t>> {
        let mut names: Vec<&str> = members.iter().map(|(name, _)| &**name).collect();
        names.sort_unstable();
        if names.windows(2).any(|pair| pair[0] == pair[1]) {
            return None;
        }
        let typed = members.into_iter().map(|(name, text)| {
            let types = self.member(&name);
            (name, Value::Text(text, types))
        });
        Some(Value::Map(typed.collect()))
    }
}

/// A parameter's text as it was sent.
#[derive(Debug, Clone)]
pub(super) struct Sent<'t> {
    /// Before percent-decoding.
    pub(super) raw: &'t str,
    /// After it. A header's value is not decoded.
    pub(super) text: Cow<'t, str>,
    /// A plus sign is a space.
    pub(super) form: bool,
    /// A plus sign may be itself, too (`allowReserved`).
    pub(super) reserved: bool,
}

impl<'t> Sent<'t> {
    fn decode(&self, part: &'t str) -> Option<Cow<'t, str>> {
        if self.form { decode_query(part.as_bytes()).ok() } else { decode_plain(part).ok() }
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

/// What a text stands for in a style; `None` if it is not written in that style.
pub(super) fn value<'t>(
    style: Style,
    explode: bool,
    name: &str,
    shape: &Shape<'_>,
    sent: &Sent<'t>,
) -> Option<Value<'t>> {
    let mut readings = Vec::new();
    match style {
        Style::Label => {
            let sent = sent.without(".")?;
            // 3.0 showed the dot for both, 3.1 and RFC 6570 the comma where it is not exploded.
            let separators: &[char] = if explode { &['.'] } else { &[',', '.'] };
            readings.extend(separators.iter().flat_map(|separator| containers(shape, &sent, *separator, explode)));
            readings.extend(scalars(shape, &sent, readings.is_empty()));
        }
        Style::Matrix => {
            let sent = sent.without(";")?;
            let own = |part: &'t str| {
                let rest = part.strip_prefix(name)?;
                rest.strip_prefix('=').or(rest.is_empty().then_some(""))
            };
            let types = shape.types();
            if explode && types.array() {
                let items: Option<Vec<_>> =
                    sent.raw.split(';').map(|part| own(part).and_then(|part| sent.decode(part))).collect();
                readings.extend(items.map(|items| shape.list(items)));
            }
            if explode && types.object() {
                readings.extend(containers(shape, &sent, ';', true));
            }
            if own(sent.raw).is_some() {
                let sent = sent.without(name)?;
                let sent = sent.without("=").unwrap_or(sent);
                if !explode {
                    readings.extend(containers(shape, &sent, ',', false));
                }
                readings.extend(scalars(shape, &sent, readings.is_empty()));
            }
        }
        _ => {
            readings = containers(shape, sent, style.separator(), explode && style == Style::Simple);
            readings.extend(scalars(shape, sent, readings.is_empty()));
        }
    }
    Value::either(readings)
}

/// A text as an array and as an object, as far as the schema allows them. `pairs`: members are `name=value`.
fn containers<'t>(shape: &Shape<'_>, sent: &Sent<'t>, separator: char, pairs: bool) -> Vec<Value<'t>> {
    let types = shape.types();
    let mut readings = Vec::new();
    if types.array() && separator != ';' {
        if sent.text.is_empty() {
            readings.push(Value::List(Vec::new()));
        }
        readings.extend(sent.parts(separator).into_iter().map(|parts| shape.list(parts)));
    }
    if types.object() {
        for parts in sent.parts(separator) {
            let members = if pairs { named(&parts) } else { alternating(parts) };
            readings.extend(members.and_then(|members| shape.map(members)));
        }
    }
    readings
}

fn scalars<'t>(shape: &Shape<'_>, sent: &Sent<'t>, only: bool) -> Vec<Value<'t>> {
    let types = shape.types();
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
pub(super) fn members_of<'t>(shape: &Shape<'_>, members: &[(Cow<'t, str>, Cow<'t, str>)]) -> Value<'t> {
    // An exploded array inside an object is a name that comes several times.
    let mut grouped: Vec<(Cow<'t, str>, Vec<Cow<'t, str>>)> = Vec::new();
    for (name, value) in members {
        match grouped.iter_mut().find(|(held, _)| held == name) {
            Some((_, values)) => values.push(value.clone()),
            None => grouped.push((name.clone(), vec![value.clone()])),
        }
    }
    let value = |(name, mut values): (Cow<'t, str>, Vec<Cow<'t, str>>)| {
        let types = shape.member(&name);
        let list = |values: Vec<Cow<'t, str>>| {
            Value::List(values.into_iter().map(|value| Value::Text(value, Types::default())).collect())
        };
        let value = if values.len() > 1 {
            list(values)
        } else {
            let text = Value::Text(values.pop().unwrap_or_default(), types);
            match &text {
                Value::Text(one, _) if types.array() => Value::Either(vec![list(vec![one.clone()]), text]),
                _ => text,
            }
        };
        (name, value)
    };
    Value::Map(grouped.into_iter().map(value).collect())
}

/// `name[a][b]=text` fields as the value that they stand for by the conventions of clients: keys nest, `[]` and numbers
/// are items. The specification defines one level of keys only; `true` where more is used.
pub(super) fn deep<'t>(shape: &Shape<'_>, fields: &[(Vec<Cow<'t, str>>, Cow<'t, str>)]) -> (Value<'t>, bool) {
    let beyond = fields.iter().any(|(keys, _)| keys.len() != 1 || is_index(&keys[0]));
    let mut root = Tree::default();
    for (keys, text) in fields {
        root.insert(keys, text.clone());
    }
    (root.value(&|name| shape.member(name), shape.types()), beyond)
}

fn is_index(key: &str) -> bool {
    key.bytes().all(|byte| byte.is_ascii_digit())
}

/// Nested fields, in order.
#[derive(Default)]
struct Tree<'t> {
    texts: Vec<Cow<'t, str>>,
    members: Vec<(Cow<'t, str>, Tree<'t>)>,
}

impl<'t> Tree<'t> {
    fn insert(&mut self, keys: &[Cow<'t, str>], text: Cow<'t, str>) {
        let Some((first, rest)) = keys.split_first() else {
            self.texts.push(text);
            return;
        };
        let place = self.members.iter().position(|(held, _)| held == first);
        let place = place.unwrap_or_else(|| {
            self.members.push((first.clone(), Tree::default()));
            self.members.len() - 1
        });
        self.members[place].1.insert(rest, text);
    }

    fn value(self, member: &dyn Fn(&str) -> Types, types: Types) -> Value<'t> {
        let unknown = |_: &str| Types::default();
        if self.members.is_empty() {
            let mut texts = self.texts;
            let list = |texts: Vec<Cow<'t, str>>| {
                Value::List(texts.into_iter().map(|text| Value::Text(text, Types::default())).collect())
            };
            return match texts.pop() {
                Some(one) if texts.is_empty() && !types.array() => Value::Text(one, types),
                Some(one) if texts.is_empty() => Value::Either(vec![list(vec![one.clone()]), Value::Text(one, types)]),
                last => list(texts.into_iter().chain(last).collect()),
            };
        }
        let indexed = self.members.iter().all(|(key, _)| is_index(key));
        if indexed {
            let items = self.members.into_iter().flat_map(|(key, tree)| {
                // `name[]` comes once for each item.
                if key.is_empty() && tree.members.is_empty() {
                    tree.texts.into_iter().map(|text| Value::Text(text, Types::default())).collect()
                } else {
                    vec![tree.value(&unknown, Types::default())]
                }
            });
            return Value::List(items.collect());
        }
        let members = self.members.into_iter().map(|(key, tree)| {
            let types = member(&key);
            let value = tree.value(&unknown, types);
            (key, value)
        });
        Value::Map(members.collect())
    }
}

/// Maximum keys of a field that are taken apart.
const MAX_KEYS: usize = 8;

/// The keys of `name[a][b]`; `None` if it is no such name.
pub(super) fn keys<'t>(name: &str, field: &str) -> Option<Vec<Cow<'t, str>>> {
    let mut rest = field.strip_prefix(name)?;
    let mut keys = Vec::new();
    while !rest.is_empty() {
        let (key, after) = rest.strip_prefix('[')?.split_once(']')?;
        keys.push(Cow::Owned(key.to_owned()));
        rest = after;
    }
    (!keys.is_empty() && keys.len() <= MAX_KEYS).then_some(keys)
}
