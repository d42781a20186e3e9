//! Forms: the fields of `application/x-www-form-urlencoded` and the parts of `multipart/form-data` as the object that
//! the schema describes.
//!
//! OpenAPI 3.0.4, section 4.7.15, and 3.1.1, section 4.8.15 (Encoding Object): a field is a parameter of a query
//! (`style: form`, exploded) unless it is an object without a style, which is JSON text.

use std::{borrow::Cow, collections::hash_map::Entry};

use ahash::AHashMap;
use contrail_exchange::{
    is_at_or_below,
    json::{Document, SyntaxError, SyntaxFault, push_pointer},
    media,
};

use super::{
    Pair, Style,
    decode::BadEncoding,
    judgement::UNDEFINED,
    pairs,
    style::{self, Deep, ParameterText},
    value::{Reading, Value},
};
use crate::{
    model::{Content, Encoding},
    schema::{Applicable, Open, Schema, SchemaVerdict, Types},
};

/// Bound on the fields of a form whose names are compared one by one.
const MAX_ENCODED_FIELDS: usize = 1000;

/// Bytes of a field: as many as most have.
const BYTES_PER_FIELD: usize = 16;

/// A form that was read.
#[derive(Debug)]
pub(crate) enum Form {
    /// An object with its fields, in the reading that fits its schema best.
    Fields(Box<Fields>),
    /// It is no form: the places (pointers to fields), what was expected, and what was seen.
    Malformed(Vec<(String, Cow<'static, str>, Option<String>)>),
    /// Beyond a limit of ours.
    TooMuch,
}

impl Form {
    /// Why a form beyond a limit is not judged.
    pub(crate) const TOO_MUCH: &str = "it is beyond a limit on fields, nesting or work";
}

/// The fields of a form.
#[derive(Debug)]
pub(crate) struct Fields {
    pub(crate) document: Document,
    /// `None` where there is no schema, or it gives no verdict.
    pub(crate) judged: Option<SchemaVerdict>,
}

/// What the document states about a form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Documented<'d> {
    pub(crate) schema: Option<&'d Schema>,
    /// Sorted by the name of the field.
    pub(crate) encodings: &'d [Encoding],
    /// A field that comes twice is a violation also where nothing names its type.
    pub(crate) no_repeats: bool,
}

impl<'d> Documented<'d> {
    pub(crate) fn by(content: Option<&'d Content>) -> Self {
        let schema = content.and_then(|content| content.schema.as_ref());
        Self { schema, encodings: content.map(|content| &*content.encodings).unwrap_or_default(), no_repeats: false }
    }

    fn encoding(&self, field: &str) -> Option<&'d Encoding> {
        let at = self.encodings.binary_search_by(|encoding| (*encoding.field).cmp(field)).ok()?;
        Some(&self.encodings[at])
    }
}

/// A text of a field: raw and decoded.
type Text<'t> = (&'t str, Cow<'t, str>);

/// A field with its texts, in order.
struct Field<'t> {
    name: &'t str,
    text: &'t Text<'t>,
    others: Vec<&'t Text<'t>>,
}

impl<'t> Field<'t> {
    fn texts(&self) -> impl Iterator<Item = &'t Text<'t>> {
        std::iter::once(self.text).chain(self.others.iter().copied())
    }
}

/// The pointer to a field.
fn pointer_to(name: &str) -> String {
    let mut at = String::new();
    push_pointer(&mut at, name);
    at
}

/// Places where a form cannot be read.
type Faults = Vec<(String, Cow<'static, str>, Option<String>)>;

/// Reads `application/x-www-form-urlencoded` as the object that the schema describes.
pub(crate) fn form(raw: &[u8], documented: Documented<'_>, is_origin: &(dyn Fn(&str) -> bool + Sync)) -> Form {
    let mut faults = Faults::new();
    let mut read: Vec<(Cow<'_, str>, Text<'_>)> = Vec::with_capacity(raw.len() / BYTES_PER_FIELD + 1);
    for Pair { name, value, raw } in pairs(raw) {
        let (name, value) = match (name, value) {
            (Ok(name), Ok(value)) => (name, value),
            (name, Err(bad)) => {
                let (Ok(name) | Err(name)) = name;
                faults.push((pointer_to(&name), BadEncoding::EXPECTED.into(), Some(bad.into_owned())));
                continue;
            }
            (Err(bad), _) => {
                faults.push((pointer_to(&bad), BadEncoding::EXPECTED.into(), Some(bad.into_owned())));
                continue;
            }
        };
        read.push((name, (raw, value)));
    }
    let mut fields: Vec<Field<'_>> = Vec::with_capacity(read.len());
    let mut known: AHashMap<&str, usize> = AHashMap::with_capacity(read.len());
    for (name, text) in &read {
        match known.entry(name) {
            Entry::Occupied(place) => fields[*place.get()].others.push(text),
            Entry::Vacant(place) => {
                place.insert(fields.len());
                fields.push(Field { name, text, others: Vec::new() });
            }
        }
    }
    let (mut open, mut undefined) = (Vec::new(), Vec::new());
    let schemas = documented.schema.map(Schema::applicable).unwrap_or_default();
    let mut members = gather(&mut fields, documented, &schemas, &mut undefined);
    for field in fields {
        let schemas = schemas.member(field.name);
        if is_undefined(&schemas, documented.encoding(field.name), field.texts().map(|(_, text)| &**text)) {
            undefined_field(&schemas, pointer_to(field.name), &mut open, &mut undefined);
        }
        match read_field(&field, documented, &schemas) {
            Ok(value) => members.push((field.name.into(), value)),
            Err(Unread::Fault(expected)) => faults.push((pointer_to(field.name), expected, None)),
            Err(Unread::TooMuch) => return Form::TooMuch,
        }
    }
    if faults.is_empty() {
        judge(members, documented.schema, (&open, &undefined), is_origin)
    } else {
        Form::Malformed(faults)
    }
}

/// Judges all fields. `open` are those that cannot be judged, `undefined` the pointers of those in a notation that the
/// specification does not define: where none of its readings fits, that is no violation.
fn judge(
    members: Vec<(Cow<'_, str>, Value<'_>)>,
    schema: Option<&Schema>,
    (open, undefined): (&[Open], &[String]),
    is_origin: &(dyn Fn(&str) -> bool + Sync),
) -> Form {
    let value = Value::Map(members);
    let form = |document, judged| Form::Fields(Box::new(Fields { document, judged }));
    if let Some(schema) = schema
        && let Ok(Reading { document, mut judged }) = value.judge(schema, is_origin)
    {
        for Open { at, why } in open {
            judged.violations.retain(|violation| !is_at_or_below(&violation.at, at));
            judged.open.push(Open { at: at.clone(), why: why.clone() });
        }
        for at in undefined {
            let count = judged.violations.len();
            judged.violations.retain(|violation| !is_at_or_below(&violation.at, at));
            if judged.violations.len() < count {
                judged.open.push(Open { at: at.clone(), why: UNDEFINED.into() });
            }
        }
        return form(document, Some(judged));
    }
    match value.document() {
        Some(document) => form(document, None),
        None => Form::TooMuch,
    }
}

/// Takes out the fields that are members of one object with names of their own, by the encodings.
fn gather<'t>(
    fields: &mut Vec<Field<'t>>,
    documented: Documented<'t>,
    schemas: &Applicable<'_>,
    undefined: &mut Vec<String>,
) -> Vec<(Cow<'t, str>, Value<'t>)> {
    struct Gathered<'t> {
        encoding: &'t Encoding,
        fields: Deep<'t>,
        beyond: bool,
    }
    let mut gathered: Vec<Gathered<'_>> = Vec::new();
    if documented.schema.is_none() || fields.len() > MAX_ENCODED_FIELDS {
        return Vec::new();
    }
    let mut keys = Vec::new();
    let deep = || documented.encodings.iter().filter(|encoding| encoding.style == Some(Style::DeepObject));
    fields.retain(|field| {
        if memchr::memchr(b'[', field.name.as_bytes()).is_none() {
            return true;
        }
        // Fields of one object mostly come one after the other.
        let last = gathered.last().map(|held| held.encoding);
        let is_of = |encoding: &&Encoding| style::keys(&encoding.field, field.name, &mut keys);
        let Some(encoding) = last.into_iter().chain(deep()).find(is_of) else { return true };
        let place = gathered.iter().rposition(|held| held.encoding.field == encoding.field).unwrap_or_else(|| {
            gathered.push(Gathered { encoding, fields: Deep::default(), beyond: false });
            gathered.len() - 1
        });
        for (_, text) in field.texts() {
            gathered[place].beyond |= gathered[place].fields.insert(&keys, text);
        }
        false
    });
    let member = |Gathered { encoding, fields, beyond }: Gathered<'t>| {
        if beyond {
            undefined.push(pointer_to(&encoding.field));
        }
        (Cow::Borrowed(&*encoding.field), fields.value(&schemas.member(&encoding.field)))
    };
    gathered.into_iter().map(member).collect()
}

/// Why a field is not read.
enum Unread {
    Fault(Cow<'static, str>),
    TooMuch,
}

/// A field that is not spread over several names.
fn read_field<'t>(
    field: &Field<'t>,
    documented: Documented<'_>,
    schemas: &Applicable<'_>,
) -> Result<Value<'t>, Unread> {
    let types = schemas.types();
    let sent =
        |(raw, text): &'t Text<'t>| ParameterText { raw, text: Cow::Borrowed(text), form: true, reserved: false };
    let encoding = documented.encoding(field.name);
    let style = encoding.and_then(Encoding::delimited);
    match (field.others.is_empty(), style) {
        (true, Some(style)) if documented.schema.is_some() => {
            style::value(style, false, field.name, schemas, &sent(field.text))
                .ok_or_else(|| Unread::Fault(format!("the style `{}`", style.name()).into()))
        }
        (true, _) => single(&field.text.1, schemas, encoding),
        (false, style) if (types.array() && style.is_none()) || (types.unknown() && !documented.no_repeats) => {
            let item = schemas.item();
            let items = field.texts().map(|(_, text)| single(text, &item, encoding));
            Ok(Value::List(items.collect::<Result<_, _>>()?))
        }
        _ => Err(Unread::Fault("this field once".into())),
    }
}

/// A field that comes once. A style is that of a parameter, and so are an array's items; an object without a style is
/// JSON text.
fn single<'t>(text: &'t str, schemas: &Applicable<'_>, encoding: Option<&Encoding>) -> Result<Value<'t>, Unread> {
    let types = schemas.types();
    let scalar = Value::Text(text.into(), types);
    if !types.array() && !types.object() && !types.unknown() {
        return Ok(scalar);
    }
    let is_styled = encoding.is_some_and(|encoding| encoding.style.is_some());
    let any = types.unknown() || encoding.is_some_and(names_json);
    let mut readings = Vec::new();
    if !is_styled && ((types.object() && begins(text, &['{'])) || (any && begins(text, &['{', '[']))) {
        readings.extend(json_text(text, types)?);
    }
    if types.array() {
        let item = schemas.item().types();
        let object = if !is_styled && item.object() && begins(text, &['{']) { json_text(text, item)? } else { None };
        let item = Value::either(object.into_iter().chain([Value::Text(text.into(), item)]).collect());
        readings.push(Value::List(item.into_iter().collect()));
    }
    if types.is_container() {
        readings.push(scalar);
    } else {
        // A schema that allows a string means the text.
        readings.insert(0, scalar);
    }
    Ok(Value::either(readings).unwrap_or_else(|| Value::Text(text.into(), types)))
}

fn begins(text: &str, signs: &[char]) -> bool {
    text.trim_start().starts_with(signs)
}

/// Whether the document states that a field is JSON text.
fn names_json(encoding: &Encoding) -> bool {
    encoding.content_types.iter().any(|range| media::is_json(range.essence()))
}

/// A text as JSON; `None` where the schema may mean the text itself.
fn json_text(text: &str, types: Types) -> Result<Option<Value<'_>>, Unread> {
    match Document::parse(text.as_bytes().to_vec()) {
        Ok(_) => Ok(Some(Value::Json(text.into()))),
        // No JSON at all is a text where an object belongs, which the judge says.
        Err(error) if error.fault == SyntaxFault::Grammar || types.unknown() => Ok(None),
        Err(error) if !error.fault.is_limit() && !types.is_container() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

impl From<SyntaxError> for Unread {
    fn from(error: SyntaxError) -> Self {
        if error.fault.is_limit() {
            Self::TooMuch
        } else {
            Self::Fault(format!("well-formed JSON text: {error}").into())
        }
    }
}

/// Whether the specification does not define how a field is written: a list of lists or objects, unless each item is JSON
/// text, and an array with `deepObject`.
fn is_undefined<'t>(
    schemas: &Applicable<'_>,
    encoding: Option<&Encoding>,
    mut texts: impl Iterator<Item = &'t str>,
) -> bool {
    let style = encoding.and_then(|encoding| encoding.style);
    let is_json = |text: &str| schemas.item().types().object() && begins(text, &['{']);
    (style == Some(Style::DeepObject) && schemas.types().array())
        || (style::nests(schemas) && (style.is_some() || !texts.all(is_json)))
}

/// Notes a field whose notation is not defined; a text may stand for itself.
fn undefined_field(schemas: &Applicable<'_>, at: String, open: &mut Vec<Open>, undefined: &mut Vec<String>) {
    if schemas.types().string() {
        undefined.push(at);
    } else {
        open.push(Open { at, why: UNDEFINED.into() });
    }
}

/// Why the parts of a name are not read.
fn why_unread(parts: &[Part<'_>]) -> Cow<'static, str> {
    let unread = parts.iter().find(|part| !part.is_json() && part.text().is_none());
    match unread.map(|part| part.media_type.as_deref()) {
        Some(None | Some("text/plain")) => "its bytes are not UTF-8".into(),
        Some(Some(media_type)) => format!("contrail does not read `{media_type}`").into(),
        None => Form::TOO_MUCH.into(),
    }
}

/// Reads `multipart/form-data` as the object that the schema describes.
pub(crate) fn multipart(
    content_type: &[u8],
    content: &[u8],
    documented: Documented<'_>,
    is_origin: &(dyn Fn(&str) -> bool + Sync),
) -> Form {
    let fault = |expected: &'static str| Form::Malformed(vec![(String::new(), expected.into(), None)]);
    let Some(boundary) = media::parameter(content_type, "boundary") else {
        return fault("a `boundary` in the Content-Type");
    };
    let Some(multipart) = media::multipart(content, &boundary, media::LineEnds::Crlf) else {
        return fault("a multipart body with this boundary");
    };
    let schemas = documented.schema.map(Schema::applicable).unwrap_or_default();
    let mut parts: Vec<(String, Vec<Part<'_>>)> = Vec::new();
    let mut faults = Faults::new();
    if multipart.parts.len() > MAX_ENCODED_FIELDS {
        return Form::TooMuch;
    }
    for part in &multipart.parts {
        let head = media::part_fields(&content[part.head.clone()]);
        let field = |name: &str| head.iter().find(|(held, _)| held == name).map(|(_, value)| &value[..]);
        let name = field("content-disposition").and_then(|value| media::parameter(value, "name"));
        let Some(name) = name.and_then(|name| String::from_utf8(name).ok()) else {
            faults.push((String::new(), "a name in the Content-Disposition of each part".into(), None));
            continue;
        };
        let encoding = documented.encoding(&name);
        let media_type = field("content-type").map(|value| media::essence(value).into_owned());
        let named = encoding.map(|encoding| &encoding.content_types[..]).unwrap_or_default();
        if let Some(media_type) = media_type.as_deref().filter(|_| !named.is_empty())
            && !named.iter().any(|named| named.rank(media_type, b"", false).is_some())
        {
            let names: Vec<&str> = named.iter().map(|named| &*named.name).collect();
            let seen = Some(media_type.to_owned());
            faults.push((pointer_to(&name), format!("a part of {}", names.join(" or ")).into(), seen));
            continue;
        }
        let part = Part { content: &content[part.body.clone()], media_type };
        match parts.iter_mut().find(|(held, _)| *held == name) {
            Some((_, parts)) => parts.push(part),
            None => parts.push((name, vec![part])),
        }
    }
    let (mut open, mut undefined) = (Vec::new(), Vec::new());
    let mut members = Vec::with_capacity(parts.len());
    for (name, parts) in &parts {
        let (schemas, encoding) = (schemas.member(name), documented.encoding(name));
        if is_undefined(&schemas, encoding, parts.iter().filter_map(Part::text)) {
            undefined_field(&schemas, pointer_to(name), &mut open, &mut undefined);
        }
        let value = read_parts(parts, encoding, &schemas).or_else(|unread| match unread {
            Unread::Fault(expected) => Err(expected),
            Unread::TooMuch => {
                open.push(Open { at: pointer_to(name), why: why_unread(parts) });
                Ok(Value::Text(Cow::Borrowed(""), Types::default()))
            }
        });
        match value {
            Ok(value) => members.push((Cow::Borrowed(&**name), value)),
            Err(expected) => faults.push((pointer_to(name), expected, None)),
        }
    }
    if faults.is_empty() {
        judge(members, documented.schema, (&open, &undefined), is_origin)
    } else {
        Form::Malformed(faults)
    }
}

/// A part of a multipart body.
struct Part<'t> {
    content: &'t [u8],
    media_type: Option<String>,
}

impl<'t> Part<'t> {
    fn is_json(&self) -> bool {
        self.media_type.as_deref().is_some_and(media::is_json)
    }

    /// Its text; `None` for a file, and for a media type that is not read as text.
    fn text(&self) -> Option<&'t str> {
        let is_text = matches!(self.media_type.as_deref(), None | Some("text/plain"));
        is_text.then(|| std::str::from_utf8(self.content).ok()).flatten()
    }

    /// What it stands for.
    fn value(&self, schemas: &Applicable<'_>, encoding: Option<&Encoding>) -> Result<Value<'t>, Unread> {
        if self.is_json() {
            let document = Document::parse(self.content.to_vec())?;
            let text = std::str::from_utf8(document.source()).map(|text| Cow::Owned(text.to_owned()));
            return text.map(Value::Json).map_err(|_| Unread::TooMuch);
        }
        let raw = match self.text() {
            Some(raw) => raw,
            // Nothing restricts the bytes of a file.
            None if schemas.takes_bytes() => "",
            None => return Err(Unread::TooMuch),
        };
        let Some(style) = encoding.and_then(Encoding::delimited) else { return single(raw, schemas, encoding) };
        style::value(style, false, "", schemas, &ParameterText { raw, text: raw.into(), form: false, reserved: false })
            .ok_or_else(|| Unread::Fault(format!("the style `{}`", style.name()).into()))
    }
}

/// What the parts of one name stand for.
fn read_parts<'t>(
    parts: &[Part<'t>],
    encoding: Option<&Encoding>,
    schemas: &Applicable<'_>,
) -> Result<Value<'t>, Unread> {
    let read = |schemas: &Applicable<'_>| -> Result<Vec<_>, _> {
        parts.iter().map(|part| part.value(schemas, encoding)).collect()
    };
    // The parts of an array are its items.
    let is_list = schemas.types().array() && encoding.and_then(Encoding::delimited).is_none();
    match parts {
        // It may also be all of it.
        [part] if is_list && part.is_json() => {
            let readings = [Value::List(read(&schemas.item())?)].into_iter().chain(read(schemas)?);
            Ok(Value::either(readings.collect()).unwrap_or(Value::List(Vec::new())))
        }
        [part] if !is_list || part.text().is_some() => part.value(schemas, encoding),
        _ if is_list => read(&schemas.item()).map(Value::List),
        _ => read(schemas).map(Value::List),
    }
}
