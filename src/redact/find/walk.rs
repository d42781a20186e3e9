//! Going through a JSON document without recursion, container by container; a place is written only when asked for.

use std::borrow::Cow;

use crate::json::{Node, push_pointer};

/// One step of a JSON pointer.
#[derive(Debug, Clone)]
pub(in crate::redact) enum Token<'d> {
    Root,
    Name(Cow<'d, str>),
    Index(usize),
}

/// Containers met so far, each with something to remember beside it.
#[derive(Debug)]
pub(in crate::redact) struct Walk<'d, T> {
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

impl<'d, T: Copy> Walk<'d, T> {
    pub(in crate::redact) fn new() -> Self {
        Self { containers: Vec::new(), current: None }
    }

    /// A container was met inside the current one; its turn comes later.
    pub(in crate::redact) fn open(&mut self, token: Token<'d>, node: Node<'d>, memo: T) {
        self.containers.push(Container { node, token, parent: self.current, memo });
    }

    /// The next container.
    pub(in crate::redact) fn next(&mut self) -> Option<(Node<'d>, T)> {
        let next = self.current.map_or(0, |at| at + 1);
        self.current = Some(next);
        self.containers.get(next).map(|container| (container.node, container.memo))
    }

    /// The JSON pointer of what `token` names in the current container.
    pub(in crate::redact) fn pointer(&self, token: &Token<'d>) -> String {
        let mut tokens = vec![token];
        let mut at = self.current;
        while let Some(container) = at.and_then(|at| self.containers.get(at)) {
            tokens.push(&container.token);
            at = container.parent;
        }
        let mut pointer = String::new();
        for token in tokens.into_iter().rev() {
            match token {
                Token::Root => {}
                Token::Name(name) => push_pointer(&mut pointer, name),
                Token::Index(at) => push_pointer(&mut pointer, &at.to_string()),
            }
        }
        pointer
    }
}
