//! Where two values differ, place by place.

use std::collections::BTreeMap;

use super::{Kind, Node};

/// How a place is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Care {
    /// By value.
    Value,
    /// By type: any value of the same one is the same.
    Type,
    /// Not at all, there or not.
    Nothing,
}

/// A place at which two values differ.
#[derive(Debug, Clone)]
pub struct Change<'a> {
    /// Where: reference tokens of a JSON pointer (RFC 6901), unescaped.
    pub place: Vec<String>,
    /// What the left one has there; `None` if nothing.
    pub left: Option<Node<'a>>,
    /// What the right one has there; `None` if nothing.
    pub right: Option<Node<'a>>,
}

/// Maximum depth of a place that is named; what differs below is named as a whole.
const MAX_NAMED_DEPTH: usize = 64;

/// Every place at which `left` and `right` differ, in the order of `left`. Objects are compared by member, arrays by
/// index, scalars by exact value. `base` is put before each place.
pub fn changes<'a>(
    left: Node<'a>,
    right: Node<'a>,
    base: &[String],
    care: &dyn Fn(&[String]) -> Care,
) -> Vec<Change<'a>> {
    let mut walk = Walk { place: base.to_vec(), base: base.len(), care, changes: Vec::new() };
    walk.compare(Some(left), Some(right));
    walk.changes
}

struct Walk<'a, 'c> {
    place: Vec<String>,
    base: usize,
    care: &'c dyn Fn(&[String]) -> Care,
    changes: Vec<Change<'a>>,
}

impl<'a> Walk<'a, '_> {
    fn compare(&mut self, left: Option<Node<'a>>, right: Option<Node<'a>>) {
        let care = (self.care)(&self.place);
        if care == Care::Nothing {
            return;
        }
        let (Some(one), Some(other)) = (left, right) else { return self.change(left, right) };
        if one.kind() != other.kind() {
            return self.change(left, right);
        }
        match one.kind() {
            _ if care == Care::Type => {}
            Kind::Object if !self.is_deep() => self.members(one, other),
            Kind::Array if !self.is_deep() => {
                let (mut one, mut other) = (one.items(), other.items());
                for at in 0.. {
                    let (left, right) = (one.next(), other.next());
                    if left.is_none() && right.is_none() {
                        break;
                    }
                    self.below(at.to_string(), left, right);
                }
            }
            _ => {
                let (mut texts, node) = ([String::new(), String::new()], [one, other]);
                texts.iter_mut().zip(node).for_each(|(text, node)| node.canonical(text));
                if texts[0] != texts[1] {
                    self.change(left, right);
                }
            }
        }
    }

    fn members(&mut self, one: Node<'a>, other: Node<'a>) {
        let mut unseen: BTreeMap<_, _> = other.members().collect();
        for (name, value) in one.members() {
            let right = unseen.remove(&name);
            self.below(name.into_owned(), Some(value), right);
        }
        for (name, value) in other.members() {
            if unseen.remove(&name).is_some() {
                self.below(name.into_owned(), None, Some(value));
            }
        }
    }

    fn below(&mut self, token: String, left: Option<Node<'a>>, right: Option<Node<'a>>) {
        self.place.push(token);
        self.compare(left, right);
        self.place.pop();
    }

    fn change(&mut self, left: Option<Node<'a>>, right: Option<Node<'a>>) {
        self.changes.push(Change { place: self.place.clone(), left, right });
    }

    fn is_deep(&self) -> bool {
        self.place.len() - self.base >= MAX_NAMED_DEPTH
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Document;

    fn places(left: &str, right: &str, care: &dyn Fn(&[String]) -> Care) -> Vec<String> {
        let (left, right) = (Document::parse(left.to_owned()).unwrap(), Document::parse(right.to_owned()).unwrap());
        let show = |node: Option<Node<'_>>| node.map_or("-".to_owned(), |node| node.raw().to_owned());
        changes(left.root(), right.root(), &[], care)
            .into_iter()
            .map(|change| format!("/{} {} {}", change.place.join("/"), show(change.left), show(change.right)))
            .collect()
    }

    #[test]
    fn values_differ_where_a_member_an_item_a_type_or_a_scalar_does() {
        let value = |_: &[String]| Care::Value;
        assert!(places(r#"{"a":[1.0,{"b":-0}]}"#, r#"{"a":[1,{"b":0}]}"#, &value).is_empty());
        assert_eq!(
            places(r#"{"a":1,"b":[1,2],"c":{},"x":5}"#, r#"{"new":true,"c":[],"b":[1,3,4],"x":5}"#, &value),
            ["/a 1 -", "/b/1 2 3", "/b/2 - 4", "/c {} []", "/new - true"]
        );
        assert_eq!(places("1", "\"1\"", &value), ["/ 1 \"1\""]);
    }

    #[test]
    fn a_place_may_count_by_its_type_or_not_at_all() {
        let care = |place: &[String]| match place.first().map(String::as_str) {
            Some("typed") => Care::Type,
            Some("left-out") => Care::Nothing,
            _ => Care::Value,
        };
        assert!(places(r#"{"typed":"a","left-out":1}"#, r#"{"typed":"b"}"#, &care).is_empty());
        assert_eq!(places(r#"{"typed":"a"}"#, r#"{"typed":1}"#, &care), ["/typed \"a\" 1"]);
        assert_eq!(places(r#"{"typed":"a"}"#, "{}", &care), ["/typed \"a\" -"]);
    }

    #[test]
    fn what_differs_very_deep_is_named_by_the_place_that_holds_it() {
        let nested = |leaf: &str| format!("{}{leaf}{}", "[".repeat(1500), "]".repeat(1500));
        let value = |_: &[String]| Care::Value;
        let found = places(&nested("1"), &nested("2"), &value);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].split(' ').next().unwrap().matches('0').count(), MAX_NAMED_DEPTH);
    }
}
