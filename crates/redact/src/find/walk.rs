//! Going through a JSON document without recursion, container by container; a place is written only when asked for.

use std::{borrow::Cow, cell::Cell, collections::HashSet};

use contrail_exchange::json::{Document, Kind, Node, push_pointer};

use super::steps::looked;

/// One step of a JSON pointer.
#[derive(Debug, Clone)]
pub(crate) enum Token<'d> {
    Root,
    Name(Cow<'d, str>),
    Index(usize),
}

/// Goes through the names, strings and numbers of a document, with the place of each but the names.
pub(crate) fn visit<'d>(
    document: &'d Document,
    places: &Places<'_>,
    mut found: impl FnMut(Node<'d>, Option<&dyn Fn() -> String>),
) {
    let mut walk: Walk<'d, ()> = Walk::new();
    let mut pass = |walk: &mut Walk<'d, ()>, token: Option<Token<'d>>, node: Node<'d>| match (node.kind(), token) {
        (Kind::Array | Kind::Object, Some(token)) => walk.open(token, node, ()),
        (Kind::String | Kind::Number, Some(token)) => found(node, Some(&|| places.of(walk, &token))),
        (_, None) => found(node, None),
        _ => {}
    };
    pass(&mut walk, Some(Token::Root), document.root());
    while let Some((node, ())) = walk.next() {
        for (at, item) in node.items().enumerate() {
            pass(&mut walk, Some(Token::Index(at)), item);
        }
        for (name, held) in node.entries() {
            pass(&mut walk, None, name);
            pass(&mut walk, Some(Token::Name(name.as_str().unwrap_or_default())), held);
        }
    }
}

/// Containers seen so far, each with something to remember beside it.
#[derive(Debug)]
pub(crate) struct Walk<'d, T> {
    containers: Vec<Container<'d, T>>,
    /// The container that is being gone through; `None` before the first.
    current: Option<usize>,
}

#[derive(Debug)]
struct Container<'d, T> {
    node: Node<'d>,
    token: Token<'d>,
    parent: Option<usize>,
    memo: T,
}

/// The places of a document that are written beside what is found there. Many of them below long names would take far
/// more memory than the document, so those of a message are bounded; beyond the bound all of the body is the place.
#[derive(Debug)]
pub(crate) struct Places<'a> {
    /// Those whose values are labels already; a number does not show it.
    done: HashSet<&'a str>,
    /// Bytes that may still be written.
    left: Cell<usize>,
}

impl<'a> Places<'a> {
    /// Of a message's body.
    pub(crate) fn of_body(done: &'a [String]) -> Self {
        /// Maximum bytes of all places of one body.
        const MAX_PLACE_BYTES: usize = 1 << 20;
        Self { done: done.iter().map(String::as_str).collect(), left: Cell::new(MAX_PLACE_BYTES) }
    }

    /// Of a file that the user names: each place is reported.
    pub(crate) fn of_file() -> Self {
        Self { done: HashSet::new(), left: Cell::new(usize::MAX) }
    }

    /// The JSON pointer of what `token` names in the current container, or of the whole document.
    pub(crate) fn of<'d, T: Copy>(&self, walk: &Walk<'d, T>, token: &Token<'d>) -> String {
        let left = self.left.get();
        let pointer = if left == 0 { String::new() } else { walk.pointer(token) };
        self.left.set(left.saturating_sub(pointer.len()));
        if pointer.len() > left { String::new() } else { pointer }
    }

    /// Whether a label is at this place already.
    pub(crate) fn is_done(&self, place: &str) -> bool {
        self.done.contains(place) || self.done.contains("")
    }
}

impl<'d, T: Copy> Walk<'d, T> {
    pub(crate) fn new() -> Self {
        Self { containers: Vec::new(), current: None }
    }

    /// A container was found inside the current one; its turn comes later.
    pub(crate) fn open(&mut self, token: Token<'d>, node: Node<'d>, memo: T) {
        self.containers.push(Container { node, token, parent: self.current, memo });
    }

    /// The next container.
    pub(crate) fn next(&mut self) -> Option<(Node<'d>, T)> {
        let next = self.current.map_or(0, |at| at + 1);
        self.current = Some(next);
        self.containers.get(next).map(|container| (container.node, container.memo))
    }

    /// `token`, and the names and indices of the containers around it, inside out.
    fn steps<'a>(&'a self, token: &'a Token<'d>) -> impl Iterator<Item = &'a Token<'d>> {
        let container = |at: Option<usize>| at.and_then(|at| self.containers.get(at));
        let around = std::iter::successors(container(self.current), move |inner| container(inner.parent));
        std::iter::once(token).chain(around.map(|container| &container.token))
    }

    /// Whether what `token` names in the current container is at a place: names and indices, `*` for any.
    pub(crate) fn is_at(&self, token: &Token<'d>, place: &[String]) -> bool {
        let mut steps = self.steps(token).filter(|token| !matches!(token, Token::Root));
        let is_step = |wanted: &String, token: &Token<'_>| match token {
            Token::Root => false,
            Token::Name(name) => wanted == name,
            Token::Index(at) => *wanted == at.to_string(),
        };
        place.iter().rev().all(|wanted| steps.next().is_some_and(|token| wanted == "*" || is_step(wanted, token)))
            && steps.next().is_none()
    }

    /// The JSON pointer of what `token` names in the current container.
    pub(crate) fn pointer(&self, token: &Token<'d>) -> String {
        let tokens: Vec<&Token<'_>> = self.steps(token).collect();
        let mut pointer = String::new();
        for token in tokens.into_iter().rev() {
            match token {
                Token::Root => {}
                Token::Name(name) => push_pointer(&mut pointer, name),
                Token::Index(at) => push_pointer(&mut pointer, &at.to_string()),
            }
        }
        looked(pointer.len());
        pointer
    }
}
