//! A document without some of its values.

use std::collections::HashMap;

use super::{
    document::Document,
    node::Node,
    pointer::push_pointer,
    pointer_tokens,
    slot::{Kind, small},
};

/// A document without some of its members and items. A container still has the count of all of them.
#[derive(Debug)]
pub(crate) struct Narrowed {
    document: Document,
    /// By the slot of an array that lacks items: the indices of those that are left.
    left: HashMap<u32, Vec<usize>>,
}

/// A container whose content is copied.
struct Open {
    /// Its slot in the narrowed document.
    slot: u32,
    kind: Kind,
    /// One past its last slot in the whole document.
    end: usize,
    /// Items so far.
    items: usize,
    left: Vec<usize>,
}

impl Narrowed {
    /// A document without the members and items that begin at these places, which ascend.
    pub(crate) fn of(document: &Document, without: impl Iterator<Item = usize>) -> Self {
        let whole = &document.tape;
        let mut narrowed = Self {
            document: Document { source: document.source.clone(), tape: Vec::new(), ..*document },
            left: HashMap::new(),
        };
        let tape = &mut narrowed.document.tape;
        let mut without = without.peekable();
        let mut open: Vec<Open> = Vec::new();
        let mut at = 0;
        loop {
            while let Some(done) = open.pop_if(|open| open.end == at) {
                tape[done.slot as usize].next = small(tape.len());
                if done.left.len() < done.items {
                    narrowed.left.insert(done.slot, done.left);
                }
            }
            if at >= whole.len() {
                return narrowed;
            }
            // A member is its name, then its value.
            let is_member = open.last().is_some_and(|open| open.kind == Kind::Object);
            let value = whole[at + usize::from(is_member)];
            // Those inside of one that is left out.
            while without.next_if(|start| *start < value.start as usize).is_some() {}
            let is_left = without.next_if_eq(&(value.start as usize)).is_none();
            if let Some(open) = open.last_mut().filter(|open| open.kind == Kind::Array) {
                open.left.extend(is_left.then_some(open.items));
                open.items += 1;
            }
            if !is_left {
                at = value.next as usize;
                continue;
            }
            for slot in &whole[at..=at + usize::from(is_member)] {
                let mut slot = *slot;
                slot.next = small(tape.len() + 1);
                tape.push(slot);
            }
            at += 1 + usize::from(is_member);
            if matches!(value.kind(), Kind::Array | Kind::Object) {
                let (slot, end) = (small(tape.len() - 1), value.next as usize);
                open.push(Open { slot, kind: value.kind(), end, items: 0, left: Vec::new() });
            }
        }
    }

    pub(crate) fn root(&self) -> Node<'_> {
        self.document.root()
    }

    /// Where in the whole document a pointer into this one leads. What is absent has the pointer of a member.
    pub(crate) fn in_whole(&self, pointer: &str) -> String {
        let mut whole = String::with_capacity(pointer.len() + 2);
        let mut node = Some(self.root());
        for token in pointer_tokens(pointer) {
            let (next, index) = match node {
                Some(array) if array.kind() == Kind::Array => {
                    let index: Option<usize> = token.parse().ok();
                    let left = self.left.get(&array.identity().1);
                    let at = index.map(|index| left.and_then(|left| left.get(index)).map_or(index, |at| *at));
                    (index.and_then(|index| array.items().nth(index)), at)
                }
                held => (held.and_then(|object| object.get(&token)), None),
            };
            match index {
                Some(index) => push_pointer(&mut whole, &index.to_string()),
                None => push_pointer(&mut whole, &token),
            }
            node = next;
        }
        whole
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![Just(json!(null)), Just(json!("x")), Just(json!(1)), Just(json!([])), Just(json!({}))];
        leaf.prop_recursive(4, 30, 5, |inner| {
            prop_oneof![
                prop::collection::btree_map("[ab~/]{1,2}", inner.clone(), 0..5).prop_map(|members| json!(members)),
                prop::collection::vec(inner, 0..6).prop_map(Value::from),
            ]
        })
    }

    /// Every value with its pointer, in the order of the document.
    fn all<'a>(node: Node<'a>, at: &str, found: &mut Vec<(String, Node<'a>)>) {
        found.push((at.to_owned(), node));
        let below = |token: &str| {
            let mut at = at.to_owned();
            push_pointer(&mut at, token);
            at
        };
        for (name, member) in node.members() {
            all(member, &below(&name), found);
        }
        for (index, item) in node.items().enumerate() {
            all(item, &below(&index.to_string()), found);
        }
    }

    proptest! {
        #[test]
        fn what_is_left_has_its_text_its_count_and_its_pointer_in_the_whole(
            value in values(),
            drops in prop::collection::vec(any::<bool>(), 40),
        ) {
            let document = Document::parse(value.to_string()).unwrap();
            let mut whole = Vec::new();
            all(document.root(), "", &mut whole);
            let mut without: Vec<Range<usize>> = Vec::new();
            for ((_, node), drop) in whole.iter().zip(&drops).skip(1) {
                let inside = without.last().is_some_and(|last| node.span().start < last.end);
                without.extend((*drop && !inside).then(|| node.span()));
            }
            let narrowed = Narrowed::of(&document, without.iter().map(|span| span.start));
            let mut left = Vec::new();
            all(narrowed.root(), "", &mut left);
            let is_left = |span: &Range<usize>| !without.iter().any(|gone| gone.start <= span.start && span.end <= gone.end);
            let expected = whole.iter().map(|(at, node)| (at.clone(), node.span(), node.len()));
            let expected: Vec<_> = expected.filter(|(_, span, _)| is_left(span)).collect();
            let found: Vec<_> = left.iter().map(|(at, node)| (narrowed.in_whole(at), node.span(), node.len())).collect();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_member_that_is_absent_keeps_its_place_in_an_item_that_moved() {
        let document = Document::parse(r#"{"list":[1,{"a":2},3]}"#).unwrap();
        let narrowed = Narrowed::of(&document, std::iter::once(9));
        assert_eq!(narrowed.in_whole("/list/0/no~1where/0"), "/list/1/no~1where/0");
        assert_eq!(narrowed.in_whole(""), "");
    }
}
