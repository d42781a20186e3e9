//! The judging of parameters by the styles and schemas that their document names.

use std::borrow::Cow;

use contrail_exchange::json::Document;

use super::{
    form::{Documented, Form, form as fields_of},
    judgement::{Judgement, UNDEFINED},
    style::{self, Deep, ParameterText, Style},
    value::{UNREAD, Value},
};
use crate::{
    model::{Content, Definition, Notation, ObjectStyle, Parameter},
    schema::{Indeterminate, Schema},
};

/// Bound on the fields that one parameter gathers.
const MAX_FIELDS: usize = 1000;

/// A value of a parameter as it was sent, and decoded.
pub(crate) type Text<'t> = (&'t str, Cow<'t, str>);

fn sent<'t>((raw, text): &Text<'t>, notation: Notation, form: bool) -> ParameterText<'t> {
    ParameterText { raw, text: text.clone(), form, reserved: notation.allow_reserved }
}

/// Judges one text. `form`: a plus sign was read as a space.
pub(crate) fn judge_text(
    name: &str,
    notation: Notation,
    definition: &Definition,
    text: &Text<'_>,
    form: bool,
) -> Judgement {
    let schema = match definition {
        Definition::Nothing => return Judgement::default(),
        Definition::NotRead => {
            return Judgement::open("contrail does not read its media type, or cannot use its place");
        }
        Definition::Text(None) => return Judgement::open("the document shows no schema for it"),
        Definition::Form(content) => return judge_form(content, &text.1),
        Definition::Json(schema) => return judge_json(schema.as_ref(), &text.1),
        Definition::Text(Some(schema)) => return judge_plain(schema, &text.1),
        Definition::Schema(schema) => schema,
    };
    let is_plain = !matches!(notation.style, Style::Label | Style::Matrix);
    if is_plain && schema.text_certainly_conforms(&text.1) {
        return Judgement::default();
    }
    let schemas = schema.applicable();
    match style::value(notation.style, notation.explode, name, &schemas, &sent(text, notation, form)) {
        Some(value) => Judgement::of(value.judge(schema, &|_| false)).where_defined(!style::nests(&schemas)),
        None => Judgement::violation(format!("the style `{}`", notation.style.name())),
    }
}

/// Judges the value of a header, its fields joined.
pub(crate) fn judge_header(name: &str, notation: Notation, definition: &Definition, text: &str) -> Judgement {
    let is_list = |schema: &Schema| schema.types().is_container() && schema.types().array();
    let elements = || text.split(',').map(str::trim);
    let text = match definition {
        // "A recipient MUST parse and ignore a reasonable number of empty list elements" (RFC 9110, section 5.6.1.2).
        Definition::Schema(schema) if elements().any(str::is_empty) && is_list(schema) => {
            Cow::Owned(elements().filter(|element| !element.is_empty()).collect::<Vec<_>>().join(","))
        }
        _ => Cow::Borrowed(text),
    };
    judge_text(name, notation, definition, &(&text, Cow::Borrowed(&*text)), false)
}

/// Judges fields of a header that cannot be joined, as the items of an array.
pub(crate) fn judge_items(schema: &Schema, texts: &[&str]) -> Judgement {
    let items = style::list(&schema.applicable(), texts.iter().map(|text| Cow::Borrowed(*text)));
    Judgement::of(items.judge(schema, &|_| false))
}

/// Judges plain text.
pub(crate) fn judge_plain(schema: &Schema, text: &str) -> Judgement {
    Judgement::of(Value::Text(Cow::Borrowed(text), schema.types()).judge(schema, &|_| false))
}

/// Judges the text of a form.
fn judge_form(content: &Content, text: &str) -> Judgement {
    match fields_of(text.as_bytes(), Documented::by(Some(content)), &|_| false) {
        Form::Malformed(faults) => {
            let what = faults.into_iter().next().map_or(Cow::Borrowed("well-formed"), |(_, expected, _)| expected);
            Judgement::violation(format!("a form: {what}"))
        }
        Form::Fields(fields) => match fields.judged {
            Some(judged) => Judgement::of_judged(&fields.document, judged),
            None => Judgement::open(Form::TOO_MUCH),
        },
        Form::TooMuch => Judgement::open(Form::TOO_MUCH),
    }
}

fn judge_json(schema: Option<&Schema>, text: &str) -> Judgement {
    match (Document::parse(text.as_bytes().to_vec()), schema) {
        (Err(error), _) if error.fault.is_limit() => Judgement::open("it is beyond a limit of the parser"),
        (Err(error), _) => Judgement::violation(format!("well-formed JSON: {error}")),
        (Ok(_), None) => Judgement::open("the document shows no schema for it"),
        (Ok(document), Some(schema)) => match schema.judge(&document, &|_| false) {
            Ok(judged) => Judgement::of_judged(&document, judged),
            Err(Indeterminate(why)) => Judgement::open(why),
        },
    }
}

/// Judges the values of a parameter of a query or of cookies, in which a name may come several times.
pub(crate) fn judge_texts(parameter: &Parameter, texts: &[Text<'_>], form: bool) -> Judgement {
    let Parameter { name, notation, definition, .. } = parameter;
    if let [one] = texts
        && (parameter.allow_empty && one.1.is_empty())
    {
        return Judgement::default();
    }
    let (schema, explode) = match definition {
        Definition::Schema(schema) => (schema, notation.explode),
        Definition::Nothing => return Judgement::default(),
        _ => return alone(texts, |one| judge_text(name, *notation, definition, one, form)),
    };
    let types = schema.types();
    if !(explode && types.array()) {
        // Where nothing names a type, a list may be meant.
        if texts.len() > 1 && types.unknown() {
            return Judgement::open("it comes several times, and the document shows no type for it");
        }
        return alone(texts, |one| judge_text(name, *notation, definition, one, form));
    }
    let schemas = schema.applicable();
    let mut readings = vec![style::list(&schemas, texts.iter().map(|(_, text)| text.clone()))];
    if let [one] = texts {
        if one.1.is_empty() {
            readings.push(Value::List(Vec::new()));
        }
        if types.scalar_or_unknown() || notation.style != Style::Form {
            let notation = Notation { explode: false, ..*notation };
            readings.extend(style::value(notation.style, false, name, &schemas, &sent(one, notation, form)));
        }
    }
    let judged = Judgement::of(Value::either(readings).ok_or(UNREAD).and_then(|value| value.judge(schema, &|_| false)));
    // The specification defines `deepObject` for objects alone.
    judged.where_defined(notation.style != Style::DeepObject && !style::nests(&schemas))
}

fn alone(texts: &[Text<'_>], judge: impl Fn(&Text<'_>) -> Judgement) -> Judgement {
    match texts {
        [one] => judge(one),
        _ => Judgement::violation("this parameter once"),
    }
}

/// Judges a parameter that is an object whose members have names of their own: their names and texts.
pub(crate) fn judge_fields(parameter: &Parameter, fields: &[(Cow<'_, str>, Cow<'_, str>)]) -> Judgement {
    let Definition::Schema(schema) = &parameter.definition else { return Judgement::open(UNDEFINED) };
    if fields.len() > MAX_FIELDS {
        return Judgement::open(Form::TOO_MUCH);
    }
    let schemas = schema.applicable();
    let (value, beyond) = match &parameter.object_style {
        Some(ObjectStyle::Keys { .. }) => {
            let is_nested = |name: &str| {
                let types = schemas.member(name).types();
                types.is_container() && !types.array()
            };
            (style::members_of(&schemas, fields), fields.iter().any(|(name, _)| is_nested(name)))
        }
        _ => {
            let (mut deep, mut beyond, mut keys) = (Deep::default(), false, Vec::new());
            for (field, text) in fields {
                if !style::keys(&parameter.name, field, &mut keys) {
                    return Judgement::open(UNDEFINED);
                }
                beyond |= deep.insert(&keys, text);
            }
            (deep.value(&schemas), beyond)
        }
    };
    Judgement::of(value.judge(schema, &|_| false)).where_defined(!beyond)
}
