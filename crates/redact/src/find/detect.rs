//! Recognising secrets: by the field that they stand in, by their shape, by the rules that `--redact` adds. What is
//! recognised is remembered, so that it is found again by value.

use std::{borrow::Cow, cell::LazyCell, ops::Range};

use contrail_exchange::json::{Document, Kind as JsonKind, Node, Suspects};

use super::{
    header_names, hints, named,
    names::{self, FieldContext, JWK_PRIVATE, LISTED_VALUES, OAUTH, is_listed_name, is_listed_value},
    prefilter::Hints,
    shapes,
    steps::is_thorough,
    walk::{Places, Token, Walk},
};
use crate::{
    Redactor,
    kind::{self, Kind},
    label,
    mark::{self, Id, Mark},
    runs,
    view::View,
};

/// How many codings are undone one inside the other: JSON in a form in a URL in JSON.
pub(crate) const MAX_CODINGS: usize = 4;

/// Longest body that is searched for personal data by shape.
const MAX_SEARCHED: usize = 1 << 20;

impl Redactor {
    pub(crate) fn learn(&self, text: &[u8], kind: Kind) -> Option<Id> {
        if kind == Kind::Code && self.plan.lists_code(text) {
            return None;
        }
        self.memory().learn(text, kind)
    }

    /// What a text may hold; `None` where it is not worth reading.
    pub(crate) fn hints(&self, text: &[u8]) -> Option<Hints> {
        if is_thorough() {
            return Some(Hints::ALL);
        }
        hints::hints(text).or_else(|| self.plan.is_extended().then_some(Hints::NONE))
    }

    /// Reads a text that has no known structure. Ranges are those of `text`.
    pub(crate) fn detect_text(&self, text: &[u8], depth: usize, out: &mut Vec<Mark>) {
        if text.len() < 3 || hints::is_short_word(text) && !self.plan.is_extended() {
            return;
        }
        let Some(hints) = self.hints(text) else { return };
        if hints.coded {
            self.reserve_labels(text);
        }
        let depth = if text.len() > MAX_SEARCHED / 4 { depth.min(1) } else { depth };
        if hints.shape {
            shapes::find(text, |range, kind| self.shape(text, range, kind, out));
        }
        for expression in &self.plan.expressions {
            for groups in expression.captures_iter(text) {
                if let Some(hit) = groups.get(1).or_else(|| groups.get(0)) {
                    out.extend(self.learn(hit.as_bytes(), Kind::Custom).map(|id| Mark::part(hit.range(), id)));
                }
            }
        }
        if text.len() < MAX_SEARCHED {
            let mut person = |range: Range<usize>, kind| {
                out.extend(self.person(&text[range.clone()], kind).map(|id| Mark::part(range, id)));
            };
            if hints.person {
                shapes::find_personal(text, &mut person);
            }
            if self.plan.personal {
                shapes::find_accounts(text, &mut person);
            }
        }
        if hints.coded && depth > 0 {
            self.detect_runs(text, depth, out);
        }
        if (depth == 0 || !self.detect_lines(text, depth, out)) && hints.field {
            named::find(text, &mut |range, kind| self.shape(text, range, kind, out));
        }
        if depth == 0 {
            return;
        }
        let coded = |undo: fn(&[u8]) -> Option<View>| if hints.coded { undo(text) } else { None };
        let percent = coded(|text| View::percent(text, false));
        for view in [percent, View::unescape(text), coded(View::entities)].into_iter().flatten() {
            mark::inside(out, 0, Some(&view), |inner| self.detect_text(&view.text, depth - 1, inner));
        }
    }

    fn shape(&self, text: &[u8], range: Range<usize>, kind: Kind, out: &mut Vec<Mark>) {
        let value = &text[range.clone()];
        if kind == Kind::Basic {
            self.learn_basic(value);
        }
        out.extend(self.learn(value, kind).map(|id| Mark::part(range, id)));
    }

    /// Personal data: counted, and learned where it is to be masked.
    pub(crate) fn person(&self, value: &[u8], kind: Kind) -> Option<Id> {
        if value.is_empty() || label::is_label_bytes(value) {
            return None;
        }
        self.memory().count_person(value, kind);
        if self.plan.personal { self.learn(value, kind) } else { None }
    }

    /// The password of a Basic credential is a secret by itself; the user is, where there is no password, or where it
    /// looks random and the password does not count.
    pub(crate) fn learn_basic(&self, encoded: &[u8]) {
        if let Some((user, password)) = runs::basic(encoded) {
            if password.is_empty() || kind::is_opaque(&user) && kind::is_constant(&password) {
                self.learn(&user, Kind::ApiKey);
            }
            self.learn(&password, Kind::Password);
        }
    }

    /// Labels that stand in a text already keep their numbers to themselves.
    pub(crate) fn reserve_labels(&self, text: &[u8]) {
        if memchr::memchr(b'!', text).is_some() {
            let highest = label::find(text).map(|(_, label)| label.number).max();
            if let Some(highest) = highest {
                self.memory().reserve(highest);
            }
        }
    }

    /// Reads a JSON document. Ranges are those of its source; quotes stay outside. Whether it may hold anything other
    /// than as it is.
    pub(crate) fn detect_json(
        &self,
        document: &Document,
        places: &Places<'_>,
        depth: usize,
        out: &mut Vec<Mark>,
    ) -> bool {
        let source = document.source();
        let (mut suspects, hide) = if is_thorough() || self.plan.is_extended() {
            (None, true)
        } else {
            hints::suspects(source, |word| is_plain_value(source, word))
        };
        let suspects = suspects.as_deref_mut().map_or(Suspects::EVERYWHERE, Suspects::of);
        if suspects.is_empty() {
            return hide;
        }
        if hide {
            self.reserve_labels(source);
        }
        let mut reading = Reading { redactor: self, walk: Walk::new(), places, depth, out };
        reading.visit(&Token::Root, document.root(), Beside { inherited: None, suspects });
        while let Some((node, beside)) = reading.walk.next() {
            if node.kind() == JsonKind::Object {
                reading.object(node, beside);
            } else {
                reading.array(node, beside);
            }
        }
        hide
    }

    /// Reads the text inside a JSON string.
    pub(crate) fn detect_string(
        &self,
        node: Node<'_>,
        depth: usize,
        out: &mut Vec<Mark>,
        place: Option<&dyn Fn() -> String>,
    ) {
        let text = node.as_str().unwrap_or_default();
        let mut marks = Vec::new();
        self.detect_text(text.as_bytes(), depth.saturating_sub(1), &mut marks);
        mark::put_in(node, marks, place, out);
    }
}

/// A JSON document on its way through recognition.
///
/// What shows that a value is a secret stands in the value, in its name, or beside the two in the same container. So
/// where nothing is inherited, a member or an item that no suspect place touches is left out, with all that it holds.
struct Reading<'r, 'd, 'o> {
    redactor: &'r Redactor,
    walk: Walk<'d, Beside<'r>>,
    places: &'r Places<'r>,
    depth: usize,
    out: &'o mut Vec<Mark>,
}

/// What is known of a value besides its text.
#[derive(Debug, Clone, Copy)]
struct Beside<'r> {
    /// From the containers around it, or its own name.
    inherited: Option<Inherited>,
    /// The suspect places in it, and maybe around it.
    suspects: Suspects<'r>,
}

impl<'r, 'd> Reading<'r, 'd, '_> {
    fn object(&mut self, node: Node<'d>, Beside { inherited, suspects }: Beside<'r>) {
        // What the members beside one show is looked up once: a malformed object may repeat a name.
        let has_key_type = LazyCell::new(|| node.get("kty").is_some());
        let has_oauth = LazyCell::new(|| OAUTH.iter().any(|name| node.get(name).is_some()));
        let listed = LazyCell::new(|| listed_kind(node));
        let (is_secret, is_sensitive) = (LazyCell::new(|| holds_secrets(node)), LazyCell::new(|| is_sensitive(node)));
        let is_piece = LazyCell::new(|| node.get("logprob").is_some());
        let has_location = LazyCell::new(|| node.get("loc").is_some());
        let mut ahead = suspects;
        for (name, value) in node.entries() {
            let name_span = name.span();
            ahead = ahead.after(name_span.start);
            let is_suspect = ahead.begin_before(value.span().end);
            if !is_suspect && inherited.is_none() && !name.plain_text().is_some_and(means_by_others) {
                continue;
            }
            let Some(text) = name.as_str() else { continue };
            let selects = |kind: &Kind| {
                let selects = |value: Cow<'_, str>| names::selects(&text, *kind, value.as_bytes());
                // The tokens of a language model's answer are pieces of its text.
                value.as_str().is_none_or(selects) && !(text == "token" && *is_piece)
            };
            let kind = names::by_name(&text, FieldContext::Member)
                .filter(selects)
                .or_else(|| (JWK_PRIVATE.contains(&&*text) && *has_key_type).then_some(Kind::PrivateKey))
                .or_else(|| {
                    let code = text.eq_ignore_ascii_case("code");
                    (code && (*has_oauth || is_code(value))).then_some(Kind::Code)
                })
                .or_else(|| {
                    let holds_text = !matches!(value.kind(), JsonKind::Number | JsonKind::Boolean);
                    let is_value = is_listed_value(&text) || text == "input" && *has_location;
                    (holds_text && is_value).then(|| *listed).flatten()
                })
                .or_else(|| (text == "auth" && is_basic(value)).then_some(Kind::Basic));
            let field = kind.map(|kind| Inherited { kind, all: !names::is_vague(&text), below: false });
            // The values of a Kubernetes Secret have any name.
            let is_data =
                matches!(&*text, "data" | "stringData") && *is_secret || is_listed_value(&text) && *is_sensitive;
            let data = is_data.then_some(Inherited { kind: Kind::Secret, all: true, below: true });
            let inherited = field.or(data).or(inherited);
            if ahead.begin_before(name_span.end) {
                self.redactor.detect_string(name, self.depth, self.out, None);
            }
            self.visit(&Token::Name(text), value, Beside { inherited, suspects: ahead });
        }
    }

    fn array(&mut self, node: Node<'d>, Beside { inherited, suspects }: Beside<'r>) {
        let paired = paired_kind(node).map(|kind| Inherited { kind, all: true, below: false });
        let mut ahead = suspects;
        for (at, item) in node.items().enumerate() {
            let inherited = paired.filter(|_| at == 1).or(inherited);
            let span = item.span();
            ahead = ahead.after(span.start);
            if inherited.is_some() || ahead.begin_before(span.end) {
                self.visit(&Token::Index(at), item, Beside { inherited, suspects: ahead });
            }
        }
    }

    fn visit(&mut self, token: &Token<'d>, node: Node<'d>, Beside { inherited, suspects }: Beside<'r>) {
        let is_named = self.redactor.plan.pointers().iter().any(|place| self.walk.is_at(token, place));
        let named = is_named.then_some(Inherited { kind: Kind::Custom, all: true, below: true });
        let field = named.or(inherited);
        match node.kind() {
            JsonKind::Null | JsonKind::Boolean => {}
            JsonKind::Number => self.number(token, node, field),
            JsonKind::String => self.string(token, node, field, suspects),
            JsonKind::Array | JsonKind::Object => {
                let inherited = field.map(|field| Inherited {
                    all: field.all && (node.kind() == JsonKind::Array || field.below),
                    ..field
                });
                let suspects = suspects.within(&node.span());
                if inherited.is_some() || !suspects.is_empty() {
                    self.walk.open(token.clone(), node, Beside { inherited, suspects });
                }
            }
        }
    }

    fn number(&mut self, token: &Token<'d>, node: Node<'d>, field: Option<Inherited>) {
        let redactor = self.redactor;
        let person = personal(token).filter(|kind| matches!(kind, Kind::Phone | Kind::Card));
        let raw = node.raw().as_bytes();
        let is_card = || redactor.plan.personal && raw.iter().all(u8::is_ascii_digit) && shapes::is_account(raw);
        let person = person.or_else(|| is_card().then_some(Kind::Card));
        // `tokens: 512` counts them.
        let counted = matches!(token, Token::Name(name) if name.to_ascii_lowercase().ends_with("tokens"));
        let Some(kind) = field.filter(|field| field.all && !counted).map(|field| field.kind).or(person) else { return };
        let place = self.places.of(&self.walk, token);
        if self.places.is_done(&place) {
            node.raw().parse().into_iter().for_each(|number| redactor.memory().reserve(number));
            return;
        }
        let id = if kind.is_personal() { redactor.person(raw, kind) } else { redactor.learn(raw, kind) };
        let mark = |id| Mark { place: Some(place.into()), number: true, ..Mark::value(node.span(), id) };
        self.out.extend(id.map(mark));
    }

    fn string(&mut self, token: &Token<'d>, node: Node<'d>, inherited: Option<Inherited>, suspects: Suspects<'r>) {
        let redactor = self.redactor;
        let inner = node.span().start + 1..node.span().end - 1;
        let place = || self.places.of(&self.walk, token);
        if let Some(field) = inherited {
            let value = node.as_str().unwrap_or_default();
            let is_secret = field.all
                || kind::is_opaque(value.as_bytes())
                || matches!(token, Token::Name(name) if names_a_secret(name));
            if is_secret && !value.is_empty() {
                // What a credential is made of is worth knowing by itself.
                redactor.detect_text(value.as_bytes(), 1, &mut Vec::new());
                let id = redactor.learn(value.as_bytes(), field.kind);
                self.out.extend(id.map(|id| Mark { place: Some(place().into()), ..Mark::value(inner, id) }));
                return;
            }
        }
        let person = |kind| redactor.person(node.as_str().unwrap_or_default().as_bytes(), kind);
        if let Some(id) = personal(token).and_then(person) {
            self.out.push(Mark { place: Some(place().into()), ..Mark::value(inner, id) });
            return;
        }
        if suspects.touch(&node.span()) {
            redactor.detect_string(node, self.depth, self.out, Some(&place));
        }
    }
}

/// The kind of the value in an item of a list, from the name beside it: `{"name": "Authorization", "value": …}`. The
/// name may be the last step of a path: `{"op": "replace", "path": "/user/password", "value": …}` (RFC 6902, RFC 7644).
pub(crate) fn listed_kind(node: Node<'_>) -> Option<Kind> {
    let names = node
        .entries()
        .filter(|(name, _)| name.as_str().is_some_and(|name| is_listed_name(name.as_bytes())))
        .filter_map(|(_, value)| last_text(value));
    names.into_iter().find_map(|name| {
        let last = name.rsplit(['/', ':', '.']).next().unwrap_or_default();
        header_names::by_listed_name(&name).or_else(|| header_names::by_listed_name(last))
    })
}

/// Whether an object is a Kubernetes Secret, by its `kind` or its `type`. Items of a list have the `type` only.
fn holds_secrets(node: Node<'_>) -> bool {
    let value = |name: &str| node.get(name).and_then(Node::as_str).unwrap_or_default();
    let of_type = value("type");
    value("kind") == "Secret" || of_type == "Opaque" || of_type.starts_with("kubernetes.io/")
}

/// Whether an object marks its value as a secret, as Terraform and the Parameter Store of AWS do.
fn is_sensitive(node: Node<'_>) -> bool {
    node.get("sensitive").and_then(Node::as_bool) == Some(true)
        || node.get("Type").is_some_and(|of| of.is_str("SecureString"))
}

/// A text, or the last of a list of them.
fn last_text(value: Node<'_>) -> Option<Cow<'_, str>> {
    value.as_str().or_else(|| value.items().last().and_then(Node::as_str))
}

/// The kind of the second of two texts, from the first: `["X-Api-Key", …]`.
fn paired_kind(node: Node<'_>) -> Option<Kind> {
    let mut items = node.items();
    let (name, value) = (items.next()?, items.next()?);
    let is_pair = items.next().is_none() && name.kind() == JsonKind::String && value.kind() == JsonKind::String;
    is_pair.then(|| header_names::by_listed_name(&name.as_str()?)).flatten()
}

/// User and password in base64, as a registry's `auth` has them.
fn is_basic(value: Node<'_>) -> bool {
    value.as_str().and_then(|text| runs::basic(text.as_bytes())).is_some_and(|(_, password)| !password.is_empty())
}

/// Whether the members beside one of this name may show that its value is a secret, where its own name does not.
fn means_by_others(name: &[u8]) -> bool {
    /// Of a list, of a validator's error, of a Kubernetes Secret.
    const OTHERS: &[&str] = &["input", "data", "stringData"];
    let is = |held: &&str| held.as_bytes().eq_ignore_ascii_case(name);
    // Every member is asked, and few have such a length.
    matches!(name.len(), 1 | 2 | 4 | 5 | 6 | 10) && JWK_PRIVATE.iter().chain(LISTED_VALUES).chain(OTHERS).any(is)
}

/// Whether a word of a JSON document stands in a value that is one word, of a member that says nothing about another:
/// then it shows no secret.
fn is_plain_value(source: &[u8], word: &Range<usize>) -> bool {
    let before = |end: usize| source[..end].iter().rposition(|byte| !hints::is_letter(*byte)).map_or(0, |at| at + 1);
    let ends = |text: &[u8]| matches!(text, [.., b'"']) && !matches!(text, [.., b'\\', b'"']);
    let (start, end) = (before(word.end), word.end);
    let rest = &source[end..];
    let after = rest.iter().position(|byte| !hints::is_letter(*byte));
    if start > word.start || after.is_none_or(|after| rest[after] != b'"') || !ends(&source[..start]) {
        return false;
    }
    let Some(name) = source[..start - 1].trim_ascii_end().strip_suffix(b":").map(<[u8]>::trim_ascii_end) else {
        return false;
    };
    let Some(end) = ends(name).then(|| name.len() - 1) else { return false };
    let start = before(end);
    let name = &source[start..end];
    ends(&source[..start]) && !is_listed_name(name) && !matches!(name, b"kind" | b"type" | b"Type")
}

/// An authorization code rather than the name of an error: long, mixed, no words in capitals joined by `_`.
fn is_code(value: Node<'_>) -> bool {
    let is_constant = |text: &str| text.contains('_') && !text.contains(|c: char| c.is_ascii_lowercase());
    value.as_str().is_some_and(|text| text.len() >= 16 && kind::is_opaque(text.as_bytes()) && !is_constant(&text))
}

/// Members of an object under a secret's name that hold the secret itself.
fn names_a_secret(name: &str) -> bool {
    ["value", "plain", "plaintext", "raw", "text", "current", "new", "old", "previous"].contains(&name)
}

/// What a member's name states about the values below it.
#[derive(Debug, Clone, Copy)]
struct Inherited {
    kind: Kind,
    /// Every value below; otherwise only those that look random, since settings of tokens are no tokens.
    all: bool,
    /// The members of an object below count like the object.
    below: bool,
}

fn personal(token: &Token<'_>) -> Option<Kind> {
    match token {
        Token::Name(name) => names::personal(name),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_that_others_explain_is_known_by_its_name_in_any_case() {
        for name in [JWK_PRIVATE, LISTED_VALUES, &["input", "data", "stringData"]].concat() {
            for name in [name.to_owned(), name.to_ascii_uppercase()] {
                assert!(means_by_others(name.as_bytes()), "{name}");
            }
        }
        for name in ["", "id", "values2", "description"] {
            assert!(!means_by_others(name.as_bytes()), "{name}");
        }
    }
}
