//! The name of what is explained: a rule, or an aspect that can be unchecked.

use contrail_exchange::finding::{Rule, Unchecked};

/// What is explained.
#[derive(Clone, Copy)]
pub(super) enum Name {
    Rule(Rule),
    Aspect(Unchecked),
}

/// A name that is neither a rule nor an aspect that can be unchecked.
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

/// The known name that needs the fewest changes to become, if that is few, else the first that it is a part of.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    let names = || Rule::ALL.iter().map(|rule| rule.id()).chain(Unchecked::ALL.into_iter().map(Unchecked::name));
    let is_part = |known: &&str| name.len() > 2 && known.contains(name);
    contrail_exchange::suggest::nearest(name, names()).or_else(|| names().find(is_part))
}
