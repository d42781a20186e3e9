//! Places that a comparison leaves out (`--ignore`).

use std::{borrow::Cow, fmt, str::FromStr};

use contrail_exchange::json::pointer_tokens;

/// One `--ignore` rule: `query:NAME`, `pointer:/a/b` or `body`, each optionally after `OPERATION=`.
///
/// A pointer names a place in a JSON body (RFC 6901; the token `*` stands for any one member or item), or after its
/// first token, which names a form field or a part, a place inside that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ignore {
    /// The operation that it is about; `None`: all requests.
    pub operation: Option<String>,
    /// What is left out.
    pub what: Ignored,
}

/// What an [`Ignore`] leaves out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ignored {
    /// Every query parameter of this (decoded) name.
    Query(String),
    /// A place in the body.
    Pointer(String),
    /// The whole body.
    Body,
}

/// A word that is no ignore rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadIgnore(String);

impl fmt::Display for BadIgnore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is not an ignore rule; it is `query:NAME`, `pointer:/a/b` or `body`, each optionally after `OPERATION=`",
            self.0
        )
    }
}

impl std::error::Error for BadIgnore {}

impl FromStr for Ignore {
    type Err = BadIgnore;

    fn from_str(text: &str) -> Result<Self, BadIgnore> {
        let bad = || BadIgnore(text.to_owned());
        let head = text.split(':').next().unwrap_or_default();
        let (operation, rule) = match head.split_once('=') {
            Some((operation, _)) => (Some(operation), &text[operation.len() + 1..]),
            None => (None, text),
        };
        if operation.is_some_and(str::is_empty) {
            return Err(bad());
        }
        let what = match rule.split_once(':') {
            None if rule == "body" => Ignored::Body,
            Some(("query", name)) if !name.is_empty() => Ignored::Query(name.to_owned()),
            Some(("pointer", "")) => Ignored::Body,
            Some(("pointer", pointer)) if pointer.starts_with('/') => Ignored::Pointer(pointer.to_owned()),
            _ => return Err(bad()),
        };
        Ok(Self { operation: operation.map(str::to_owned), what })
    }
}

/// The rules that hold for one operation, laid out for comparing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IgnoreSet {
    pub(super) query: Vec<Vec<u8>>,
    /// Pointers as their unescaped tokens.
    pub(super) pointers: Vec<Vec<String>>,
    pub(super) body: bool,
}

impl IgnoreSet {
    /// The rules for `operation`.
    #[must_use]
    pub fn of(rules: &[Ignore], operation: Option<&str>) -> Self {
        let mut set = Self::default();
        for rule in rules {
            if rule.operation.is_some() && rule.operation.as_deref() != operation {
                continue;
            }
            match &rule.what {
                Ignored::Query(name) => set.query.push(name.clone().into_bytes()),
                Ignored::Pointer(pointer) => set.pointers.push(tokens(pointer)),
                Ignored::Body => set.body = true,
            }
        }
        set
    }

    /// Whether a query parameter of this name is left out.
    pub(super) fn leaves_out_parameter(&self, name: &[u8]) -> bool {
        self.query.iter().any(|ignored| ignored == name)
    }

    /// Whether the place of these tokens, or one that holds it, is left out.
    #[must_use]
    pub fn leaves_out_place(&self, place: &[String]) -> bool {
        self.body
            || self.pointers.iter().any(|pointer| {
                pointer.len() <= place.len() && pointer.iter().zip(place).all(|(token, at)| token == "*" || token == at)
            })
    }
}

/// The reference tokens of a JSON pointer, unescaped (RFC 6901, section 4).
pub(super) fn tokens(pointer: &str) -> Vec<String> {
    pointer_tokens(pointer).map(Cow::into_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ignore_rule_names_a_parameter_a_place_or_the_body_for_all_or_for_one_operation() {
        let rule = |text: &str| text.parse::<Ignore>();
        assert_eq!(rule("query:take"), Ok(Ignore { operation: None, what: Ignored::Query("take".into()) }));
        assert_eq!(rule("query:a=b"), Ok(Ignore { operation: None, what: Ignored::Query("a=b".into()) }));
        assert_eq!(rule("pointer:/a~1b/0"), Ok(Ignore { operation: None, what: Ignored::Pointer("/a~1b/0".into()) }));
        assert_eq!(
            rule("testAction=pointer:/payload/id"),
            Ok(Ignore { operation: Some("testAction".into()), what: Ignored::Pointer("/payload/id".into()) })
        );
        assert_eq!(rule("testAction=body"), Ok(Ignore { operation: Some("testAction".into()), what: Ignored::Body }));
        for bad in ["", "take", "query:", "pointer:a", "=query:x", "header:x"] {
            assert!(rule(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_star_stands_for_any_one_token_and_a_place_takes_what_it_holds_with_it() {
        let set = IgnoreSet::of(&["pointer:/items/*/id".parse().unwrap()], None);
        assert!(set.leaves_out_place(&tokens("/items/3/id")));
        assert!(set.leaves_out_place(&tokens("/items/3/id/deep")));
        assert!(!set.leaves_out_place(&tokens("/items/3/name")));
        assert!(!set.leaves_out_place(&tokens("/items/3")));
    }
}
