//! The exchanges of a list in groups: by operation, by client or by path. Each group has the term of the filter that
//! selects its exchanges.

use std::collections::{HashMap, HashSet};

use contrail_contract::{Contract, ContractDocument};
use contrail_exchange::{finding::UNDOCUMENTED, is_at_or_below};
use serde_json::{Value, json};

use super::{
    filter::{FilterError, quoted},
    inspector::Inspector,
    lists::{Lists, Wanted},
    stream::counts,
    summary::VERDICTS,
};

/// Maximum groups of one answer: those of the most exchanges.
const MAX_GROUPS: usize = 500;
/// Segments that the names of paths get beyond the usual ones, so that no group holds most of a list.
const MAX_DEEPER: usize = 4;

/// What the exchanges of a group have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    Operation,
    Client,
    Path,
}

impl By {
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "operation" => Self::Operation,
            "client" => Self::Client,
            "path" => Self::Path,
            _ => return None,
        })
    }

    /// The term of a filter that selects a group; an empty name is that of no client.
    fn term(self, name: &str, bases: &[&str], split: &HashSet<String>) -> String {
        match self {
            Self::Operation => format!("op:{}", quoted(name)),
            Self::Client if name.is_empty() => "-client:*".to_owned(),
            Self::Client => format!("client:{}", quoted(name)),
            Self::Path => {
                let (from, segments) = depth(name, bases);
                let is_whole = name[from..].matches('/').count() < segments || split.contains(name);
                let below = if is_whole { String::new() } else { format!("|{}", quoted(&format!("{name}/*"))) };
                format!("path:{}{below}", quoted(name))
            }
        }
    }
}

/// What of a path names its group: one segment below the contract's base path, where the kinds of things are, or two
/// segments elsewhere. Where they begin, and how many.
fn depth(path: &str, bases: &[&str]) -> (usize, usize) {
    let base = bases.iter().filter(|base| is_at_or_below(path, base)).map(|base| base.len()).max();
    base.map_or((0, 2), |base| (base, 1))
}

/// The beginning of a path, which names its group: as long as it has to be where groups were split.
fn beginning<'p>(path: &'p str, bases: &[&str], split: &HashSet<String>) -> &'p str {
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    let (from, segments) = depth(path, bases);
    // The slash that begins the first segment ends none.
    let ends = path[from..].match_indices('/').map(|(at, _)| from + at).filter(|at| *at > from);
    let mut ends = ends.chain([path.len()]).skip(segments - 1).map(|end| &path[..end]);
    ends.find(|name| !split.contains(*name)).unwrap_or(path)
}

fn bases(contract: &Contract) -> Vec<&str> {
    contract.documents().iter().flat_map(ContractDocument::base_paths).map(String::as_str).collect()
}

/// Whether the documented paths below this one go on with a word, and none with a parameter.
fn divides(contract: &Contract, name: &str) -> bool {
    let documents = contract.documents().iter();
    let paths = documents.flat_map(|document| {
        let bases = document.base_paths();
        document
            .operations()
            .flat_map(move |operation| bases.iter().map(move |base| format!("{base}{}", operation.path)))
    });
    let mut next =
        paths.filter_map(|path| path.strip_prefix(name)?.strip_prefix('/').map(|rest| !rest.starts_with('{')));
    next.next() == Some(true) && next.all(|word| word)
}

/// The groups of a list.
pub(crate) fn value(inspector: &Inspector, lists: &Lists, wanted: &Wanted, by: By) -> Result<Value, FilterError> {
    let bases = bases(&inspector.contract);
    lists.with(inspector, wanted, |list, searched| {
        let store = inspector.store();
        let mut split = HashSet::new();
        let mut groups;
        loop {
            let mut counted: HashMap<&str, [u64; VERDICTS.len()]> = HashMap::new();
            for summary in list.matches.iter().filter_map(|n| store.summary(*n)) {
                let name = |number| store.names.text(number).map(|text| &**text);
                let group = match by {
                    By::Operation => name(summary.operation).unwrap_or(UNDOCUMENTED),
                    By::Client => name(summary.client).unwrap_or_default(),
                    By::Path => beginning(&summary.path, &bases, &split),
                };
                counted.entry(group).or_default()[usize::from(summary.verdict)] += 1;
            }
            groups = counted
                .into_iter()
                .map(|(name, verdicts)| (name, verdicts.iter().sum::<u64>(), verdicts))
                .collect::<Vec<_>>();
            groups.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
            let half = list.matches.len() as u64 / 2;
            let largest = groups.first().filter(|(_, count, _)| by == By::Path && *count > half);
            match largest {
                Some((name, ..))
                    if split.len() < MAX_DEEPER
                        && divides(&inspector.contract, name)
                        && split.insert((*name).to_owned()) => {}
                _ => break,
            }
        }
        let further = groups.len().saturating_sub(MAX_GROUPS);
        groups.truncate(MAX_GROUPS);
        let row = |(name, count, verdicts): (&str, u64, [u64; VERDICTS.len()])| {
            let name = inspector.clean(name);
            json!({"term": by.term(&name, &bases, &split), "name": name, "count": count, "counts": counts(&verdicts)})
        };
        let rows: Vec<Value> = groups.into_iter().map(row).collect();
        json!({"n": store.listed(), "rows": rows, "further": further, "searched": searched})
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        filter::{Clock, Context, Filter, tests::summary},
        names::Names,
        summary::Summary,
    };

    const BASES: [&str; 2] = ["/api", "/api/v2"];

    #[test]
    fn a_path_begins_with_one_segment_below_a_base_path_and_with_two_elsewhere() {
        for (path, expected) in [
            ("/api/v2/users/usr_1/roles?take=5", "/api/v2/users"),
            ("/api/v2/users?take=/5", "/api/v2/users"),
            ("/api/v2/users/", "/api/v2/users"),
            ("/api/v2", "/api/v2"),
            ("/api/v2x/users/1", "/api/v2x"),
            ("/oauth/token/x", "/oauth/token"),
            ("/authorize", "/authorize"),
            ("*", "*"),
        ] {
            assert_eq!(beginning(path, &BASES, &HashSet::new()), expected, "{path}");
        }
        assert_eq!(beginning("/users/1", &[""], &HashSet::new()), "/users");
        let split = HashSet::from(["/api", "/api/v1"].map(str::to_owned));
        for (path, expected) in [
            ("/api/v1/users/1", "/api/v1/users"),
            ("/api/v2/users", "/api/v2"),
            ("/api", "/api"),
            ("/api/v1", "/api/v1"),
            ("/users/1", "/users"),
        ] {
            assert_eq!(beginning(path, &[""], &split), expected, "{path}");
        }
    }

    proptest! {
        #[test]
        fn the_term_of_a_path_s_group_selects_the_group_and_nothing_else(
            one in "(/api|/v2|/users|/a|/)*", other in "(/api|/v2|/users|/a|/)*",
            split in prop::collection::hash_set("(/api|/v2|/users|/a|/)*", 0..4),
        ) {
            let term = By::Path.term(beginning(&one, &BASES, &split), &BASES, &split);
            let filter = Filter::parse(&term, Clock { now: 0, zone: 0 }).unwrap();
            let is_same = beginning(&one, &BASES, &split) == beginning(&other, &BASES, &split);
            let mut names = Names::default();
            let summary = Summary { path: other.into(), ..summary(&mut names) };
            let answer = filter.selects(&summary, None, Context { names: &names, is_slow: false, state: None });
            prop_assert_eq!(answer, is_same.into(), "{}", term);
        }
    }
}
