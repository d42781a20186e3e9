//! The requests that rules are about: what neither the contract nor a recording has is a slip of the pen.

use contrail_recording::{Ignore, Scope};
use contrail_replay::Replay;

use crate::cli::Failure;

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

/// Refuses a method and path that no recorded request has.
pub(super) fn recorded(rules: &[Ignore], replay: &Replay) -> Result<(), Failure> {
    for scope in rules.iter().filter_map(|rule| rule.scope.as_ref()) {
        let is_recorded = || {
            let mut requests = replay.entries().map(|recorded| &recorded.entry.exchange.request);
            requests.any(|request| scope.holds(None, request.method.as_str(), request.target.path()))
        };
        if matches!(scope, Scope::Line { .. }) && !replay.is_empty() && !is_recorded() {
            return Err(format!("--ignore {scope}: no recorded request has this method and path").into());
        }
    }
    Ok(())
}
