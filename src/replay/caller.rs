//! Who asks: the client with its set of scopes.

use std::{collections::HashMap, sync::Arc};

use crate::token::{Credential, TokenFacts};

/// Who sent a request, as far as its token says.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Caller {
    /// A token that tells nothing (malformed, encrypted, stripped from the file).
    Unknown,
    /// No token.
    Nobody,
    /// A client with its scopes (sorted, without repeats).
    Client {
        /// Its id, where the token has one.
        client: Option<String>,
        /// Its scopes; none where the token has no member for them.
        scopes: Vec<String>,
    },
}

impl Caller {
    pub(super) fn of(credential: &Credential) -> Self {
        match credential {
            Credential::Missing | Credential::OtherScheme(_) => Self::Nobody,
            Credential::Malformed(_) | Credential::Encrypted | Credential::Unknown => Self::Unknown,
            Credential::Token(facts) if facts.client.is_none() && facts.scopes.is_none() => Self::Unknown,
            Credential::Token(facts) => {
                let mut scopes = facts.scopes.clone().unwrap_or_default();
                scopes.sort_unstable();
                scopes.dedup();
                Self::Client { client: facts.client.clone(), scopes }
            }
        }
    }
}

/// A caller's number.
pub(super) type CallerId = u32;

/// The callers of a recording.
#[derive(Debug, Default)]
pub(super) struct Callers(HashMap<Caller, CallerId>);

impl Callers {
    pub(super) fn intern(&mut self, caller: Caller) -> CallerId {
        let next = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        *self.0.entry(caller).or_insert(next)
    }

    /// The number of a caller that can be told apart and was recorded.
    pub(super) fn known(&self, caller: &Caller) -> Option<CallerId> {
        if *caller == Caller::Unknown { None } else { self.0.get(caller).copied() }
    }

    /// The recorded scopes of this client, one set per token.
    pub(super) fn scopes_of<'a>(&'a self, id: Option<&'a str>) -> impl Iterator<Item = &'a [String]> {
        self.0.keys().filter_map(move |caller| match caller {
            Caller::Client { client, scopes } if id.is_none() || client.as_deref() == id => Some(scopes.as_slice()),
            _ => None,
        })
    }
}

/// What was worked out of the tokens met last: a few come again and again.
#[derive(Debug)]
pub(super) struct Met<T>(Vec<(Arc<TokenFacts>, T)>);

impl<T> Default for Met<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Copy> Met<T> {
    /// Callers at work at the same time.
    const MOST: usize = 16;

    /// What `work_out` gives of a credential.
    pub(super) fn of(&mut self, credential: &Credential, work_out: impl FnOnce() -> T) -> T {
        let Credential::Token(facts) = credential else { return work_out() };
        if let Some((_, known)) = self.0.iter().find(|(met, _)| Arc::ptr_eq(met, facts)) {
            return *known;
        }
        if self.0.len() >= Self::MOST {
            self.0.remove(0);
        }
        let known = work_out();
        self.0.push((Arc::clone(facts), known));
        known
    }
}
