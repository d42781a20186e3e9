//! The requests that rules are about: what neither the contract nor a recording has is a slip of the pen.

use contrail_recording::{Ignore, Scope};
use contrail_replay::Replay;

use super::terms::Pending;
use crate::cli::{Failure, options::judge::known_operations};

/// The documented operations that rules name.
pub(in crate::cli) fn operations(rules: &[Ignore]) -> Vec<&String> {
    let mut operations = Vec::new();
    for rule in rules {
        if let Some(Scope::Operation(operation)) = &rule.scope {
            operations.push(operation);
        }
    }
    operations
}

/// Refuses an operation that the contract does not have; without such scopes no contract is needed.
pub(super) fn documented(rules: &[Ignore], terms: &Pending) -> Result<(), Failure> {
    let operations = operations(rules);
    if operations.is_empty() { Ok(()) } else { known_operations(&terms.get()?.contract, "--ignore", operations) }
}

/// Refuses a method and path that no recorded request has.
pub(super) fn recorded(rules: &[Ignore], replay: &Replay) -> Result<(), Failure> {
    rules.iter().filter_map(|rule| rule.scope.as_ref()).try_for_each(|scope| is_recorded("--ignore", scope, replay))
}

/// Refuses the scope of an option if it is a method and path that no recorded request has.
pub(super) fn is_recorded(option: &str, scope: &Scope, replay: &Replay) -> Result<(), Failure> {
    let has_it = || {
        let mut requests = replay.entries().map(|recorded| &recorded.entry.exchange.request);
        requests.any(|request| scope.holds(None, request.method.as_str(), request.target.path()))
    };
    if matches!(scope, Scope::Line { .. }) && !replay.is_empty() && !has_it() {
        return Err(format!("{option} {scope}: no recorded request has this method and path").into());
    }
    Ok(())
}
