//! Secrets in the fields of a form or a query.

use std::{borrow::Cow, ops::Range};

use contrail_exchange::{json::push_pointer, media};

use super::{
    detect::MAX_CODINGS,
    header_names,
    names::{self, FieldContext, is_listed_name, is_listed_value},
};
use crate::{
    Redactor,
    kind::Kind,
    mark::{self, Mark},
    view::View,
};

/// A field of a form or a query.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: Part,
    /// Empty, at the end of the name, where there is no `=`.
    pub(crate) value: Part,
}

/// A name or a value, percent-encoded, and decoded once.
#[derive(Debug)]
pub(crate) struct Part {
    /// Where it stands in the text.
    pub(crate) range: Range<usize>,
    /// What it stands for, with `+` as a space, if that is something else.
    pub(crate) view: Option<Box<View>>,
}

impl Part {
    fn new(range: Range<usize>, text: &[u8]) -> Self {
        let view = View::percent(&text[range.clone()], true).map(Box::new);
        Self { range, view }
    }

    /// As it stands in the text.
    pub(crate) fn raw<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        &text[self.range.clone()]
    }

    /// What it stands for.
    pub(crate) fn decoded<'t>(&'t self, text: &'t [u8]) -> &'t [u8] {
        self.view.as_ref().map_or_else(|| self.raw(text), |view| &view.text)
    }

    /// Whether it is percent-encoded UTF-8.
    fn is_sound(&self, text: &[u8]) -> bool {
        let raw = self.raw(text);
        let is_coded = |at: usize| raw.get(at + 1..at + 3).is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit));
        let mut bytes = raw.iter().enumerate();
        bytes.all(|(at, byte)| *byte != b'%' || is_coded(at)) && std::str::from_utf8(self.decoded(text)).is_ok()
    }
}

/// The fields of a form or a query.
pub(crate) fn fields(text: &[u8]) -> Vec<Field> {
    let field = |found: media::Field| Field { name: Part::new(found.name, text), value: Part::new(found.value, text) };
    media::fields(text).map(field).collect()
}

/// Whether name and value are percent-encoded UTF-8.
pub(super) fn is_sound(field: &Field, text: &[u8]) -> bool {
    field.name.is_sound(text) && field.value.is_sound(text)
}

pub(crate) fn name_of<'t>(field: &'t Field, text: &'t [u8]) -> Cow<'t, str> {
    String::from_utf8_lossy(field.name.decoded(text))
}

/// The part of a bracketed or dotted field name that counts: `user[password]`.
pub(super) fn last_name(name: &str) -> &str {
    name.rsplit(['[', '.']).map(|part| part.trim_end_matches(']')).find(|part| !part.is_empty()).unwrap_or(name)
}

/// What the name of a field states about its value.
pub(super) fn by_field(name: &str, value: &[u8]) -> Option<Kind> {
    let last = last_name(name);
    let is_nested = name.trim_end_matches("[]") != last;
    // A nested field is a member of an object: there the word in `code` is the name of an error.
    let context = if is_nested && is_word(value) { FieldContext::Member } else { FieldContext::Parameter };
    names::by_name(last, context).filter(|kind| names::selects(last, *kind, value))
}

/// Whether a value is written rather than drawn at random: words of one case, joined by `_` or `-`.
fn is_word(value: &[u8]) -> bool {
    let is = |case: fn(&u8) -> bool| value.iter().all(|byte| case(byte) || matches!(byte, b'_' | b'-'));
    is(u8::is_ascii_lowercase) || is(u8::is_ascii_uppercase)
}

pub(crate) fn field_place(name: &str) -> String {
    let mut place = String::new();
    push_pointer(&mut place, name);
    place
}

impl Redactor {
    /// Recognises the secrets of a form or a query.
    pub(crate) fn detect_fields<'f>(
        &self,
        text: &[u8],
        fields: impl IntoIterator<Item = &'f Field>,
        form: bool,
        out: &mut Vec<Mark>,
    ) {
        // The kind of the value that follows a field which holds a name: `name=password&value=…`.
        let mut beside = None;
        for field in fields {
            let name = name_of(field, text);
            let value = field.value.decoded(text);
            let before = out.len();
            let last = last_name(&name);
            let kind = by_field(&name, value)
                .or_else(|| beside.take_if(|_| last.len() > 1 && is_listed_value(last)))
                .or_else(|| (form && self.plan.names_field(&name)).then_some(Kind::Custom))
                .or_else(|| (!form && self.plan.is_key_parameter(&name)).then_some(Kind::ApiKey));
            if is_listed_name(last.as_bytes()) {
                beside = std::str::from_utf8(value).ok().and_then(header_names::by_listed_name);
            }
            if let Some(kind) = kind {
                self.reserve_labels(value);
                self.detect_text(value, 1, &mut Vec::new());
                out.extend(self.learn(value, kind).map(|id| Mark::value(field.value.range.clone(), id)));
            } else {
                let person = names::personal(last).filter(|_| !value.is_empty());
                let person = person.and_then(|kind| self.person(value, kind));
                out.extend(person.map(|id| Mark::part(field.value.range.clone(), id)));
                self.detect_coded(text, &field.value, out);
            }
            if out.len() > before {
                mark::put(&mut out[before..], Some(&field_place(&name)));
            }
            self.detect_coded(text, &field.name, out);
        }
    }

    /// Recognises the secrets of a name or a value.
    fn detect_coded(&self, text: &[u8], part: &Part, out: &mut Vec<Mark>) {
        let found = |inner: &mut _| self.detect_text(part.decoded(text), MAX_CODINGS - 1, inner);
        for mark in mark::inside(out, part.range.start, part.view.as_deref(), found) {
            mark.whole = mark.range == part.range;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_form_is_recognised_as_broken() {
        let sound = |text: &[u8]| fields(text).iter().all(|field| is_sound(field, text));
        assert!(sound(b"a=1&b&=&c=%C3%A9+x&a=2"));
        assert!(!sound(b"a=%zz") && !sound(b"a=%1") && !sound(b"%ff=1"));
    }

    #[test]
    fn a_name_and_its_value_may_be_two_fields() {
        let masked = |form: &str| {
            let mut marks = Vec::new();
            Redactor::default().detect_fields(form.as_bytes(), &fields(form.as_bytes()), true, &mut marks);
            marks.into_iter().map(|mark| form[mark.range].to_owned()).collect::<Vec<_>>()
        };
        for form in [
            "name=password&value=abc",
            "p[0].name=a&p[0].value=b&p[1].name=password&p[1].value=abc",
            "name=password&type=text&value=abc",
            "a=1&field=X-Api-Key&value=abc",
        ] {
            assert_eq!(masked(form), ["abc"], "{form}");
        }
        for form in [
            "name=take&value=5",
            "key=token&v=2",
            "name=password&value=",
            "password_name=x&value=1",
            "name=password&type=1",
        ] {
            assert!(masked(form).is_empty(), "{form}: {:?}", masked(form));
        }
    }

    #[test]
    fn a_code_inside_a_field_is_a_secret_unless_it_is_a_word() {
        let kind = |name, value: &str| by_field(name, value.as_bytes());
        for name in ["failure[code]", "failure[0].code", "a[code][]"] {
            for value in ["account_closed", "ACCOUNT_CLOSED", "not-found", "expired"] {
                assert_eq!(kind(name, value), None, "{name}={value}");
            }
            for value in ["SplxlOBeZQQYbYS", "123456", "splx10be", "4/0AbCD"] {
                assert_eq!(kind(name, value), Some(Kind::Code), "{name}={value}");
            }
        }
        // By themselves they are an authorization code, whatever their value.
        for name in ["code", "code[]"] {
            assert_eq!(kind(name, "account_closed"), Some(Kind::Code), "{name}");
        }
        assert_eq!(kind("user[password]", "hunter"), Some(Kind::Password));
        assert_eq!(kind("user[token]", "abc"), Some(Kind::Token));
    }

    #[test]
    fn a_bracketed_name_tells_by_its_last_part() {
        assert_eq!(last_name("user[password]"), "password");
        assert_eq!(last_name("user[tokens][]"), "tokens");
        assert_eq!(last_name("plain"), "plain");
    }
}
