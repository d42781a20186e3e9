//! The name of what is explained: a rule, an aspect that can be unchecked, or another word of the output.

use contrail_exchange::finding::{Rule, Unchecked};

use super::words::{WORDS, Word};

/// What is explained.
#[derive(Clone, Copy)]
pub(super) enum Name {
    Rule(Rule),
    Aspect(Unchecked),
    Word(&'static Word),
}

impl Name {
    pub(super) fn find(name: &str) -> Option<Self> {
        let word = || WORDS.iter().find(|word| word.name == name).map(Self::Word);
        name.parse().map(Self::Rule).ok().or_else(|| Unchecked::from_name(name).map(Self::Aspect)).or_else(word)
    }
}

/// A name of nothing that is explained.
#[derive(Debug)]
pub(super) struct UnknownName {
    pub(super) name: String,
    pub(super) nearest: Option<&'static str>,
}

impl std::fmt::Display for UnknownName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` is not a rule", self.name.escape_debug())?;
        match self.nearest {
            Some(nearest) => write!(f, "; did you mean `{nearest}`? `contrail explain` lists them all"),
            None => f.write_str("; `contrail explain` lists them all"),
        }
    }
}

impl std::error::Error for UnknownName {}

/// Everything that is explained.
pub(in crate::cli) fn names() -> impl Iterator<Item = &'static str> {
    let rules = Rule::ALL.iter().map(|rule| rule.id());
    rules.chain(Unchecked::ALL.into_iter().map(Unchecked::name)).chain(WORDS.iter().map(|word| word.name))
}

/// The known name that needs the fewest changes to become, if that is few, else the first that it is a part of.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    let is_part = |known: &&str| name.len() > 2 && known.contains(name);
    contrail_exchange::suggest::nearest(name, names()).or_else(|| names().find(is_part))
}
