//! The calls of one operation, held until they decide.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::refusal::{Reason, Words, hash};
use crate::learn::evidence::{Cited, Sightings};

/// Maximum tenants of an operation; and of each tenant, sets of scopes of accepted calls, differing refusals, and
/// paths.
const MAX_TENANTS: usize = 50;
const MAX_SETS: usize = 2000;
const MAX_PATHS: usize = 20_000;

/// The calls of one operation, by tenant.
#[derive(Debug, Clone, Default)]
pub(in crate::learn) struct Calls {
    pub(super) tenants: BTreeMap<String, Tenant>,
    /// Calls with a token whose scopes cannot be read.
    pub(super) unread: u64,
    /// There were more tenants, sets of scopes, refusals or paths than are kept.
    pub(super) overflow: bool,
}

/// The calls to one tenant: the origin of the requests.
#[derive(Debug, Clone, Default)]
pub(super) struct Tenant {
    pub(super) accepted: BTreeMap<Scopes, Sightings>,
    pub(super) refused: BTreeMap<Refusal, Sightings>,
    /// Of accepted calls, as hashes.
    pub(super) paths: HashSet<u64>,
}

pub(super) type Scopes = BTreeSet<String>;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Refusal {
    pub(super) scopes: Scopes,
    pub(super) path: u64,
    /// Its text, as a hash.
    pub(super) text: u64,
    pub(super) reason: Reason,
    /// The scopes that it names and its token lacks.
    pub(super) names: Scopes,
}

impl Refusal {
    /// Whether it shows that the operation does not require this scope alone: its token holds it, or the tenant names
    /// others.
    pub(super) fn excludes(&self, scope: &str) -> bool {
        self.scopes.contains(scope) || !self.names.is_empty() && !self.names.contains(scope)
    }
}

/// One call, as far as it can decide.
pub(in crate::learn) enum Call {
    /// The tenant accepted it.
    Accepted(Scopes),
    /// It was refused with 403, in these words.
    Refused(Scopes, Words),
    /// The scopes of its token cannot be read.
    Unread,
}

impl Calls {
    pub(in crate::learn) fn take(&mut self, tenant: String, path: &str, call: Call, cited: &Cited) {
        let is_known = self.tenants.len() < MAX_TENANTS || self.tenants.contains_key(&tenant);
        let path = hash(path.as_bytes());
        let full = match call {
            Call::Unread => {
                self.unread += 1;
                false
            }
            _ if !is_known => true,
            Call::Accepted(scopes) => {
                let tenant = self.tenants.entry(tenant).or_default();
                let has_room = tenant.paths.len() < MAX_PATHS || tenant.paths.contains(&path);
                if has_room {
                    tenant.paths.insert(path);
                }
                count(&mut tenant.accepted, scopes, cited) || !has_room
            }
            Call::Refused(scopes, Words { text, reason, mut names }) => {
                names.retain(|name| !scopes.contains(name));
                let refused = &mut self.tenants.entry(tenant).or_default().refused;
                count(refused, Refusal { scopes, path, text, reason, names }, cited)
            }
        };
        self.overflow |= full;
    }
}

/// Counts something; `true` if there is no room for it.
fn count<K: Ord>(counts: &mut BTreeMap<K, Sightings>, key: K, cited: &Cited) -> bool {
    if let Some(seen) = counts.get_mut(&key) {
        seen.again(cited);
    } else if counts.len() < MAX_SETS {
        counts.insert(key, Sightings::new(cited));
    } else {
        return true;
    }
    false
}
