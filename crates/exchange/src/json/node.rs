//! Reading the tape.

use std::{borrow::Cow, ops::Range};

use super::{
    document::Document,
    pointer::unescape_pointer,
    slot::{Kind, Slot},
    strings::unescape_text,
};

/// One value of a [`Document`]; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct Node<'a> {
    document: &'a Document,
    index: u32,
}

impl Document {
    /// The outermost value.
    #[must_use]
    pub fn root(&self) -> Node<'_> {
        Node::new(self, 0)
    }

    /// The value at a JSON pointer (RFC 6901), if there is one.
    #[must_use]
    pub fn pointer(&self, pointer: &str) -> Option<Node<'_>> {
        if pointer.is_empty() {
            return Some(self.root());
        }
        pointer.strip_prefix('/')?.split('/').try_fold(self.root(), |node, token| {
            let token = unescape_pointer(token);
            match node.kind() {
                Kind::Object => node.get(&token),
                Kind::Array
                    if token == "0" || (!token.starts_with('0') && token.bytes().all(|b| b.is_ascii_digit())) =>
                {
                    node.items().nth(token.parse().ok()?)
                }
                _ => None,
            }
        })
    }
}

impl<'a> Node<'a> {
    #[inline]
    pub(super) fn new(document: &'a Document, index: u32) -> Self {
        Self { document, index }
    }

    #[inline]
    fn slot(self) -> Slot {
        self.document.tape[self.index as usize]
    }

    /// The identity of this value among all that are alive: its document and its place on the tape.
    pub fn identity(self) -> (usize, u32) {
        (std::ptr::from_ref(self.document) as usize, self.index)
    }

    /// The document that it stands in.
    pub fn document(self) -> &'a Document {
        self.document
    }

    /// Its type.
    #[must_use]
    #[inline]
    pub fn kind(self) -> Kind {
        self.slot().kind()
    }

    /// Where it stands in the source, quotes and brackets included.
    #[must_use]
    pub fn span(self) -> Range<usize> {
        let slot = self.slot();
        slot.start as usize..slot.end as usize
    }

    /// Its text in the source.
    #[must_use]
    pub fn raw(self) -> &'a str {
        std::str::from_utf8(self.raw_bytes()).unwrap_or_default()
    }

    /// [`raw`](Self::raw) as bytes.
    pub fn raw_bytes(self) -> &'a [u8] {
        &self.document.source[self.span()]
    }

    /// The string's value, escapes undone.
    #[must_use]
    pub fn as_str(self) -> Option<Cow<'a, str>> {
        let slot = self.slot();
        (slot.kind() == Kind::String).then(|| {
            let raw = self.raw();
            let inner = &raw[1..raw.len() - 1];
            if slot.is_marked() { Cow::Owned(unescape_text(inner)) } else { Cow::Borrowed(inner) }
        })
    }

    /// The string's bytes as they stand in the source, if it is a string without escapes: then they are its value.
    #[must_use]
    #[inline]
    pub fn plain_text(self) -> Option<&'a [u8]> {
        let slot = self.slot();
        if slot.kind() != Kind::String || slot.is_marked() {
            return None;
        }
        self.document.source.get(slot.start as usize + 1..slot.end as usize - 1)
    }

    /// Whether this is a string with exactly this value.
    #[must_use]
    pub fn is_str(self, text: &str) -> bool {
        let slot = self.slot();
        if slot.kind() != Kind::String {
            return false;
        }
        let raw = self.raw_bytes();
        if slot.is_marked() {
            self.as_str().is_some_and(|value| value == text)
        } else {
            &raw[1..raw.len() - 1] == text.as_bytes()
        }
    }

    /// The boolean's value.
    #[must_use]
    pub fn as_bool(self) -> Option<bool> {
        (self.kind() == Kind::Boolean).then(|| self.raw_bytes().first() == Some(&b't'))
    }

    /// The number's text.
    #[must_use]
    pub fn as_number(self) -> Option<&'a str> {
        (self.kind() == Kind::Number).then(|| self.raw())
    }

    /// Whether it is a number without a fraction or an exponent part.
    pub fn is_written_as_integer(self) -> bool {
        let slot = self.slot();
        slot.kind() == Kind::Number && !slot.is_marked()
    }

    /// Members of an object, in order (empty for anything else).
    pub fn members(self) -> impl Iterator<Item = (Cow<'a, str>, Node<'a>)> {
        Members::of(self).map(|(name, value)| (Node::new(self.document, name).as_str().unwrap_or_default(), value))
    }

    /// Members of an object with their names as nodes, for edits of the name's own span.
    #[inline]
    pub fn entries(self) -> Entries<'a> {
        Entries(Members::of(self))
    }

    /// Items of an array, in order (empty for anything else).
    #[inline]
    pub fn items(self) -> Items<'a> {
        Items::of(self)
    }

    /// How many members or items.
    #[must_use]
    #[inline]
    pub fn len(self) -> usize {
        self.slot().count()
    }

    /// Whether it has no members or items.
    #[must_use]
    #[inline]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The member of this name.
    #[must_use]
    pub fn get(self, name: &str) -> Option<Node<'a>> {
        Members::of(self).find(|(held, _)| Node::new(self.document, *held).is_str(name)).map(|(_, value)| value)
    }

    /// As `serde_json` sees it (numbers by text).
    #[must_use]
    pub fn to_value(self) -> serde_json::Value {
        use serde_json::{Map, Number, Value};
        enum Building<'a> {
            Array(Vec<Value>, Items<'a>),
            Object(Map<String, Value>, String, Members<'a>),
        }
        let mut open: Vec<Building<'a>> = Vec::new();
        let mut node = self;
        loop {
            let mut done = match node.kind() {
                Kind::Null => Value::Null,
                Kind::Boolean => Value::Bool(node.as_bool().unwrap_or_default()),
                Kind::Number => Value::Number(Number::from_string_unchecked(node.raw().to_owned())),
                Kind::String => Value::String(node.as_str().unwrap_or_default().into_owned()),
                Kind::Array => {
                    let mut items = Items::of(node);
                    match items.next() {
                        None => Value::Array(Vec::new()),
                        Some(first) => {
                            open.push(Building::Array(Vec::with_capacity(node.len()), items));
                            node = first;
                            continue;
                        }
                    }
                }
                Kind::Object => {
                    let mut members = Members::of(node);
                    match members.next() {
                        None => Value::Object(Map::new()),
                        Some((name, first)) => {
                            let name = members.name(name);
                            open.push(Building::Object(Map::with_capacity(node.len()), name, members));
                            node = first;
                            continue;
                        }
                    }
                }
            };
            loop {
                match open.last_mut() {
                    None => return done,
                    Some(Building::Array(values, items)) => {
                        values.push(done);
                        if let Some(following) = items.next() {
                            node = following;
                            break;
                        }
                    }
                    Some(Building::Object(map, name, members)) => {
                        map.insert(std::mem::take(name), done);
                        if let Some((following, value)) = members.next() {
                            *name = members.name(following);
                            node = value;
                            break;
                        }
                    }
                }
                done = match open.pop() {
                    Some(Building::Array(values, _)) => Value::Array(values),
                    Some(Building::Object(map, ..)) => Value::Object(map),
                    None => Value::Null,
                };
            }
        }
    }
}

/// Members by the tape index of their name.
#[derive(Debug, Clone)]
pub struct Members<'a> {
    document: &'a Document,
    at: u32,
    end: u32,
}

impl<'a> Members<'a> {
    /// Those of an object; none of another value.
    #[inline]
    pub fn of(node: Node<'a>) -> Self {
        let slot = node.slot();
        let end = if slot.kind() == Kind::Object { slot.next } else { node.index + 1 };
        Self { document: node.document, at: node.index + 1, end }
    }

    pub(super) fn name(&self, index: u32) -> String {
        Node::new(self.document, index).as_str().unwrap_or_default().into_owned()
    }

    /// The name at an index that the iterator gave.
    pub fn name_ref(&self, index: u32) -> Cow<'a, str> {
        Node::new(self.document, index).as_str().unwrap_or_default()
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = (u32, Node<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.end {
            return None;
        }
        let name = self.at;
        let value = Node::new(self.document, name + 1);
        self.at = value.slot().next;
        Some((name, value))
    }
}

/// Members of an object, names as nodes.
#[derive(Debug, Clone)]
pub struct Entries<'a>(Members<'a>);

impl<'a> Iterator for Entries<'a> {
    type Item = (Node<'a>, Node<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (name, value) = self.0.next()?;
        Some((Node::new(self.0.document, name), value))
    }
}

/// Items of an array.
#[derive(Debug, Clone)]
pub struct Items<'a> {
    document: &'a Document,
    at: u32,
    end: u32,
}

impl<'a> Items<'a> {
    /// Those of an array; none of another value.
    #[inline]
    pub fn of(node: Node<'a>) -> Self {
        let slot = node.slot();
        let end = if slot.kind() == Kind::Array { slot.next } else { node.index + 1 };
        Self { document: node.document, at: node.index + 1, end }
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Node<'a>;

    #[inline]
    fn next(&mut self) -> Option<Node<'a>> {
        if self.at >= self.end {
            return None;
        }
        let item = Node::new(self.document, self.at);
        self.at = item.slot().next;
        Some(item)
    }
}
