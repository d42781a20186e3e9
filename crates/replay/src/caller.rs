//! Identifies the caller of a request: the client with its set of scopes, and the user for whom it calls.

use std::{
    collections::HashMap,
    hash::{BuildHasher, Hash},
};

use contrail_exchange::{ByToken, Credential, token::user_digest};

/// Who sent a request, as far as its token says.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Caller {
    /// A credential that shows nothing (a token that is opaque, encrypted or stripped from the file, another scheme).
    Unknown,
    /// No token.
    Nobody,
    /// The user of a Basic credential, as a digest.
    User(String),
    /// A client with its scopes (sorted, without repeats).
    Client {
        /// Its id, where the token has one.
        client: Option<String>,
        /// Its scopes; none where the token has no member for them.
        scopes: Vec<String>,
    },
}

impl Caller {
    fn of(credential: &Credential) -> Self {
        match credential {
            Credential::Missing => Self::Nobody,
            Credential::OtherScheme { user: Some(user), .. } => Self::User(user.clone()),
            Credential::OtherScheme { user: None, .. }
            | Credential::Malformed(_)
            | Credential::Encrypted
            | Credential::Unknown => Self::Unknown,
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

/// A caller's numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct CallerId {
    /// The client's.
    pub(super) client: u32,
    /// The user's; 0 where the token names none, and of one that was not recorded.
    pub(super) user: u32,
}

/// The number of a key, from 1 in the order in which they came.
pub(super) fn number_of<T: Eq + Hash, S: BuildHasher>(numbers: &mut HashMap<T, u32, S>, key: T) -> u32 {
    let next = u32::try_from(numbers.len() + 1).unwrap_or(u32::MAX);
    *numbers.entry(key).or_insert(next)
}

/// The callers of a recording.
#[derive(Debug, Default)]
pub(super) struct Callers {
    clients: HashMap<Caller, u32>,
    /// By the digest of the name, and by the digest of that, which replay's own tokens have for a name.
    users: HashMap<String, u32>,
}

impl Callers {
    pub(super) fn intern(&mut self, credential: &Credential) -> CallerId {
        let user = credential.facts().and_then(|facts| facts.user.clone());
        let user = user.map_or(0, |user| {
            let own = user_digest(user.as_bytes());
            let user = number_of(&mut self.users, user);
            *self.users.entry(own).or_insert(user)
        });
        CallerId { client: number_of(&mut self.clients, Caller::of(credential)), user }
    }

    /// The numbers of a caller that is distinguishable and whose client was recorded.
    pub(super) fn known(&self, credential: &Credential) -> Option<CallerId> {
        let caller = Caller::of(credential);
        let client = self.clients.get(&caller).filter(|_| caller != Caller::Unknown)?;
        let user = credential.facts().and_then(|facts| self.users.get(facts.user.as_ref()?));
        Some(CallerId { client: *client, user: user.copied().unwrap_or(0) })
    }

    /// The recorded scopes of this client, one set per token.
    pub(super) fn scopes_of<'a>(&'a self, id: Option<&'a str>) -> impl Iterator<Item = &'a [String]> {
        self.clients.keys().filter_map(move |caller| match caller {
            Caller::Client { client, scopes } if id.is_none() || client.as_deref() == id => Some(scopes.as_slice()),
            _ => None,
        })
    }
}

/// What is known of callers, worked out once per token.
#[derive(Debug, Default)]
pub(super) struct CallerCache<T>(ByToken<T>);

impl<T: Copy> CallerCache<T> {
    /// What `work_out` gives of a credential.
    pub(super) fn of(&mut self, credential: &Credential, work_out: impl FnOnce() -> T) -> T {
        match credential {
            Credential::Token(facts) => *self.0.get_or_put(facts, work_out),
            _ => work_out(),
        }
    }
}
