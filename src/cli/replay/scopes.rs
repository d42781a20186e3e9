//! The requests that rules are about: what neither the contract nor a recording has is a slip of the pen.

use contrail_recording::Scope;
use contrail_replay::Replay;

use super::terms::Pending;
use crate::cli::{Failure, options::matching::MatchArgs};

/// Refuses an operation that the contract does not have; without such scopes no contract is needed.
pub(super) fn documented(rules: &MatchArgs, terms: &Pending) -> Result<(), Failure> {
    if rules.names_operations() { rules.check(&terms.get()?.contract) } else { Ok(()) }
}

/// Refuses a method and path that no recorded request has. Those of a variable or the file are for all recordings.
pub(super) fn recorded(rules: &MatchArgs, replay: &Replay) -> Result<(), Failure> {
    let mut scopes = rules.options().filter_map(|(option, rule)| Some((option, rule.scope.as_ref()?)));
    if rules.typed { scopes.try_for_each(|(option, scope)| is_recorded(option, scope, replay)) } else { Ok(()) }
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
