//! How many connections the limit of open files allows (`ulimit -n`), which is raised as far as that takes.

use contrail_exchange::plural::plural;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Files that are open besides connections: listeners, journal, reports, what the first worker needs.
const OTHERS: u64 = 64;

/// Files that the event loop of a further worker takes.
const OF_A_WORKER: usize = 8;

/// Raises the soft limit so that so many `workers` can serve `connections` clients, with `upstream` connections to the
/// upstream (by default one for each) beside `pool` idle ones. Gives how many clients can be served after that: fewer
/// where the hard limit is too low. A warning names it; further clients are turned away with a reason instead of
/// waiting.
pub(super) fn connections_that_fit(connections: usize, upstream: Option<usize>, pool: usize, workers: usize) -> usize {
    let pool = pool
        .saturating_add(upstream.unwrap_or(0).saturating_sub(connections))
        .saturating_add(workers.saturating_sub(1).saturating_mul(OF_A_WORKER));
    let needed = files(connections, pool);
    // A system without a known limit has its own way of refusing.
    let Some(limit) = raised_to(needed).filter(|limit| *limit < needed) else { return connections };
    let fit = fitting(limit, connections, pool);
    if fit < connections {
        tracing::warn!(
            "at most {} at a time instead of {connections}: this process may open {limit} files, and \
             --max-connections {connections} needs {needed}; raise the limit with `ulimit -n`",
            plural(fit, "connection")
        );
    }
    fit
}

/// Raises the soft limit to so many files, as far as the hard one allows; what it is then, if the system says.
pub(super) fn raised_to(files: u64) -> Option<u64> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).ok()?;
    let raised = files.min(hard);
    Some(if soft < files && setrlimit(Resource::RLIMIT_NOFILE, raised, hard).is_ok() { raised } else { soft })
}

fn files(connections: usize, pool: usize) -> u64 {
    let count = connections.saturating_mul(2).saturating_add(pool);
    u64::try_from(count).unwrap_or(u64::MAX).saturating_add(OTHERS)
}

fn fitting(limit: u64, connections: usize, pool: usize) -> usize {
    let besides = OTHERS.saturating_add(u64::try_from(pool).unwrap_or(u64::MAX));
    let fit = limit.saturating_sub(besides) / 2;
    usize::try_from(fit).unwrap_or(usize::MAX).clamp(1, connections)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_takes_a_file_for_itself_and_one_for_the_upstream() {
        assert_eq!(files(1024, 64), 2176);
        assert_eq!(fitting(2176, 1024, 64), 1024);
        assert_eq!(fitting(1024, 1024, 64), 448);
        assert_eq!(fitting(10, 1024, 64), 1);
        assert_eq!(files(usize::MAX, 64), u64::MAX);
    }
}
