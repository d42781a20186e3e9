//! Two contracts, operation by operation: which are gone, which are new, who may call them and where.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use contrail_exchange::finding::Unchecked;
use serde_json::Value;

use super::{
    change::{Change, Impact, change},
    messages::Messages,
    schema::Unchanged,
};
use crate::{
    Contract, ContractDocument, MediaRange,
    model::{Alternative, Catalogue, Model, Operation, Scheme, Security},
    refs,
    route::shape,
};

/// What changed between two contracts of one document each: the changes of the whole document first, then by operation
/// in the order of the new document, those that are gone at the end.
#[must_use]
pub fn compare(old: &Contract, new: &Contract) -> Vec<Change> {
    old.documents().iter().zip(new.documents()).flat_map(|(old, new)| documents(old, new)).collect()
}

fn documents(old: &ContractDocument, new: &ContractDocument) -> Vec<Change> {
    let mut changes = Vec::new();
    let pairs = pairs(old, new);
    places(old, new, &pairs, &mut changes);
    document(old, new, &mut changes);
    let mut unchanged = Unchanged::new();
    for (was, is) in &pairs {
        let (Some(was), Some(is)) = (was, is) else {
            let (operation, kind, impact, message) = match (was, is) {
                (Some(was), _) => {
                    let message = "the contract does not have it any more".to_owned();
                    (was, "operation-removed", Impact::Breaking, message)
                }
                (_, Some(is)) => {
                    let (impact, message) = match former(old, new, is) {
                        Some(Operation { method, path, .. }) => (
                            Impact::Breaking,
                            format!("the operation is new, and its requests were of {method} {path}"),
                        ),
                        None => (Impact::NonBreaking, "the operation is new".to_owned()),
                    };
                    (is, "operation-added", impact, message)
                }
                (None, None) => continue,
            };
            let message = format!("{} {}: {message}", operation.method, operation.path);
            changes.push(change(Some(operation), impact, kind, "", message));
            continue;
        };
        let start = changes.len();
        let documents = (old.resolved(), new.resolved());
        security(was, is, &mut changes);
        servers(documents, was, is, &mut changes);
        Messages { documents, changes: &mut changes, unchanged: &mut unchanged }.compare(was, is);
        if was.relations != is.relations {
            let message = "the relations between request and response changed";
            changes.push(change(None, Impact::Unclear, "relations-changed", "", message));
        }
        changes[start..].iter_mut().for_each(|change| change.operation = Some(Arc::clone(&is.id)));
    }
    changes
}

type Pair<'m> = (Option<&'m Operation>, Option<&'m Operation>);

/// Operations of the same method and path, whatever its parameters are called; those of the new document first.
fn pairs<'m>(old: &'m ContractDocument, new: &'m ContractDocument) -> Vec<Pair<'m>> {
    let key =
        |base: &str, operation: &Operation| (operation.method.clone(), format!("{base}{}", shape(&operation.path)));
    let mut held: HashMap<_, &Operation> = HashMap::new();
    for operation in &old.model().operations {
        held.entry(key("", operation)).or_insert(operation);
        for base in old.base_paths() {
            held.entry(key(base, operation)).or_insert(operation);
        }
    }
    let mut pairs: Vec<Pair<'_>> = Vec::new();
    let mut paired: Vec<*const Operation> = Vec::new();
    for operation in &new.model().operations {
        let bases = new.base_paths().iter().map(String::as_str);
        let found = [""].into_iter().chain(bases).find_map(|base| held.get(&key(base, operation)).copied());
        let found = found.filter(|found| !paired.contains(&std::ptr::from_ref(*found)));
        paired.extend(found.map(std::ptr::from_ref));
        pairs.push((found, Some(operation)));
    }
    let rest = old.model().operations.iter().filter(|held| !paired.contains(&std::ptr::from_ref(*held)));
    pairs.extend(rest.map(|operation| (Some(operation), None)));
    pairs
}

/// The old operation that took the requests of a new one.
fn former<'m>(old: &'m ContractDocument, new: &ContractDocument, is: &Operation) -> Option<&'m Operation> {
    new.base_paths().iter().find_map(|base| {
        // A template is a path of its own: braces are in no literal segment.
        let path = format!("{base}{}", is.path);
        let taken = new.find(is.method.as_str(), &path).filter(|found| std::ptr::eq(found.operation, is));
        taken.and_then(|_| old.find(is.method.as_str(), &path)).map(|found| found.operation)
    })
}

/// Base paths under which no operation is, or all are, reached any more.
fn places(old: &ContractDocument, new: &ContractDocument, pairs: &[Pair<'_>], changes: &mut Vec<Change>) {
    let both: Vec<_> = pairs.iter().filter_map(|(was, is)| was.zip(*is)).collect();
    let reached = |document: &ContractDocument, method: &str, path: &str| document.find(method, path).is_some();
    for (one, other, impact, kind, message) in [
        (old, new, Impact::Breaking, "base-path-removed", "the contract does not serve this base path any more"),
        (new, old, Impact::NonBreaking, "base-path-added", "the contract also serves this base path"),
    ] {
        for base in one.base_paths() {
            let lost = |(was, is): &&(&Operation, &Operation)| {
                let operation = if std::ptr::eq(one, old) { was } else { is };
                let path = format!("{base}{}", shape(&operation.path).replace("{}", "0"));
                let method = operation.method.as_str();
                reached(one, method, &path) && !reached(other, method, &path)
            };
            if both.iter().any(|pair| lost(&pair)) {
                let shown = if base.is_empty() { "/" } else { base };
                changes.push(change(None, impact, kind, &format!("base path `{shown}`"), message));
            }
        }
    }
}

/// What holds for all operations.
fn document(old: &ContractDocument, new: &ContractDocument, changes: &mut Vec<Change>) {
    let (one, other) = (old.model(), new.model());
    let (was, is) = (scopes(one), scopes(other));
    for scope in was.difference(&is) {
        let message = "no security scheme declares the scope any more";
        changes.push(change(None, Impact::Unclear, "scope-removed", &format!("scope `{scope}`"), message));
    }
    for scope in is.difference(&was) {
        let message = "a security scheme declares the scope";
        changes.push(change(None, Impact::NonBreaking, "scope-added", &format!("scope `{scope}`"), message));
    }
    let names = |ranges: &[MediaRange]| ranges.iter().map(ToString::to_string).collect::<Vec<_>>();
    if names(&one.media_types) != names(&other.media_types) || one.no_repeated_fields != other.no_repeated_fields {
        let message = "what holds for every message (media types, repeated fields) changed";
        changes.push(change(None, Impact::Unclear, "messages-changed", "", message));
    }
}

fn scopes(model: &Model) -> BTreeSet<&str> {
    model.scopes.iter().flat_map(Catalogue::iter).collect()
}

fn servers((old, new): (&Value, &Value), was: &Operation, is: &Operation, changes: &mut Vec<Change>) {
    let own = |document, operation: &Operation| {
        let item = operation.at.rsplit_once('/').map_or("", |(item, _)| item);
        let servers = |at: &str| refs::at(document, &refs::below(at, &["servers"])).map(Value::to_string);
        servers(&operation.at).or_else(|| servers(item))
    };
    if own(old, was) != own(new, is) {
        let message = "the servers of the operation changed";
        changes.push(change(None, Impact::Unclear, "servers-changed", "servers", message));
    }
}

/// Compares the credentials: those that satisfied the old operation have to satisfy the new one.
fn security(was: &Operation, is: &Operation, changes: &mut Vec<Change>) {
    let (one, other) = (&was.security, &is.security);
    let (before, after) = (described(one), described(other));
    let shown = |operation: &Operation| !operation.not_shown.contains(Unchecked::RequiredScope);
    if before == after && shown(was) == shown(is) {
        return;
    }
    let open = |security: &Security| security.alternatives.is_empty();
    let enough = |held: &Alternative| open(other) || other.alternatives.iter().any(|asked| is_enough(held, asked));
    let kept = if open(one) { enough(&Alternative::default()) } else { one.alternatives.iter().all(enough) };
    let (impact, kind) = match (open(one), open(other)) {
        // The old contract left open what the new one asks for, or the reverse.
        _ if !shown(was) || !shown(is) => (Impact::Unclear, "security-changed"),
        (true, false) => (if kept { Impact::NonBreaking } else { Impact::Breaking }, "security-added"),
        (false, true) => (Impact::NonBreaking, "security-removed"),
        _ if kept => (Impact::NonBreaking, "security-changed"),
        _ => (Impact::Breaking, "security-changed"),
    };
    let describe = |operation: &Operation, described: String| {
        if shown(operation) { described } else { format!("{described}, its scopes not shown") }
    };
    let message = format!("changed from {} to {}", describe(was, before), describe(is, after));
    changes.push(change(None, impact, kind, "security", message));
}

/// Whether the credentials of one alternative satisfy another.
fn is_enough(held: &Alternative, asked: &Alternative) -> bool {
    let bearer = match (&held.bearer, &asked.bearer) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(held), Some(asked)) => {
            (held.jwt || !asked.jwt) && asked.scopes.iter().all(|scope| held.scopes.contains(scope))
        }
    };
    bearer && asked.others.iter().all(|scheme| held.others.contains(scheme))
}

fn described(security: &Security) -> String {
    let one = |alternative: &Alternative| {
        let bearer = alternative.bearer.iter().map(|bearer| {
            let kind = if bearer.jwt { "a bearer token (JWT)" } else { "a bearer token" };
            let scopes = bearer.scopes.join(" and ");
            if scopes.is_empty() { kind.to_owned() } else { format!("{kind} with {scopes}") }
        });
        let all: Vec<String> = bearer.chain(alternative.others.iter().map(in_words)).collect();
        if all.is_empty() { "nothing".to_owned() } else { all.join(" and ") }
    };
    let all: Vec<String> = security.alternatives.iter().map(one).collect();
    if all.is_empty() { "nothing".to_owned() } else { all.join(", or ") }
}

fn in_words(scheme: &Scheme) -> String {
    match scheme {
        Scheme::Http(name) => format!("{name} credentials"),
        Scheme::ApiKey { place, name } => format!("the API key `{name}` ({})", place.name()),
        Scheme::Unseen(name) => name.to_string(),
    }
}
