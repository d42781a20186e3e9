//! All families of a server, at the instant at which somebody asks. `docs/operations.md` lists them.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    hash::{BuildHasher, Hash},
    sync::{
        PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, UNIX_EPOCH},
};

use contrail_exchange::finding::{Rule, UNDOCUMENTED, Unchecked};

use super::{
    exchanges::{DurationLabels, Durations, Exchanges, OfOperation},
    family::{Family, Grain, Kind, Labels, Value},
    registry::{Gauges, Metrics},
};

/// The values of `Contrail-Answer` that mean that the upstream gave no answer.
const UPSTREAM_FAILURES: [&str; 3] = ["max-upstream", "upstream", "upstream-timeout"];

/// The durations of exchanges.
pub(super) const DURATION: &str = "http_server_request_duration_seconds";

impl Metrics {
    /// All families, with durations grouped by this.
    #[must_use]
    pub fn families(&self, grain: Grain) -> Vec<Family> {
        let subject = self.subject.get();
        // Without traffic nothing else would.
        if let Some(subject) = subject.filter(|_| self.journal.failure().is_some()) {
            subject.look_again();
        }
        let exchanges = subject.map(|subject| subject.exchanges()).unwrap_or_default();
        let gauges = subject.map(|subject| subject.gauges()).unwrap_or_default();
        let contract = subject.and_then(|subject| subject.contract());
        let mut all = self.of_process(contract);
        all.extend(of_exchanges(&exchanges, grain));
        all.extend(self.of_refusals(&exchanges));
        all.extend(of_gauges(gauges));
        all.extend(self.of_journal());
        all.extend(self.of_telemetry());
        all
    }

    fn of_process(&self, contract: Option<String>) -> Vec<Family> {
        let version = Family::new("contrail_build_info", Kind::Gauge, "1", "Version of contrail");
        let mut all = vec![version.with(label("version", env!("CARGO_PKG_VERSION")), Value::Count(1))];
        all.extend(contract.map(|hash| {
            let family = Family::new("contrail_contract_info", Kind::Gauge, "1", "SHA-256 of the contract in force");
            family.with(label("sha256", hash), Value::Count(1))
        }));
        let help = "Times that SIGHUP had files read again";
        let mut reloads = Family::new("contrail_reloads", Kind::Counter, "{reload}", help);
        for (outcome, count) in ["succeeded", "failed"].into_iter().zip(&self.reloads) {
            reloads = reloads.with(label("outcome", outcome), Value::Count(load(count)));
        }
        all.push(reloads);
        let started = self.started.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let help = "Start of the process, seconds since 1970";
        let start = Family::new("process_start_time_seconds", Kind::Gauge, "s", help);
        all.push(start.with(Labels::new(), Value::Number(started)));
        all
    }

    fn of_refusals(&self, exchanges: &Exchanges) -> Vec<Family> {
        let help = "Requests that contrail answered itself, by the value of Contrail-Answer";
        let mut answers = Family::new("contrail_answers", Kind::Counter, "{request}", help);
        for (reason, count) in sorted(&exchanges.answered) {
            answers = answers.with(label("reason", reason.to_string()), Value::Count(*count));
        }
        let help = "Requests to which the upstream gave no answer, by the value of Contrail-Answer";
        let mut failures = Family::new("contrail_upstream_failures", Kind::Counter, "{request}", help);
        for reason in UPSTREAM_FAILURES {
            let count = exchanges.answered.get(reason).copied().unwrap_or_default();
            failures = failures.with(label("reason", reason), Value::Count(count));
        }
        let help = "Requests rejected before they became exchanges, by status";
        let mut rejected = Family::new("contrail_requests_rejected", Kind::Counter, "{request}", help);
        for (status, count) in self.rejected.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let status = if *status == 0 { "none".to_owned() } else { status.to_string() };
            rejected = rejected.with(label("http.response.status_code", status), Value::Count(*count));
        }
        let help = "Exchanges that --only or --exclude leaves out";
        let left_out = Family::new("contrail_exchanges_left_out", Kind::Counter, "{exchange}", help);
        let help = "Checks, redactions and encodings that failed because of a bug";
        let errors = Family::new("contrail_internal_errors", Kind::Counter, "{error}", help);
        let (left_out, errors) = (left_out.count(load(&self.left_out)), errors.count(load(&self.internal_errors)));
        vec![answers, failures, rejected, left_out, errors]
    }

    fn of_journal(&self) -> Vec<Family> {
        let journal = &self.journal;
        let entries = |name, kind, help, count| Family::new(name, kind, "{entry}", help).count(count);
        let total = |name, help, count, nanos| {
            let (sum, count) = (Duration::from_nanos(load(nanos)), load(count));
            Family::new(name, Kind::Summary, "s", help).with(Labels::new(), Value::Total { sum, count })
        };
        let waiting = "Entries that wait for the write, or for the disk under --durable";
        let lost = "Entries that could not be written";
        let failing =
            Family::new("contrail_journal_failing", Kind::Gauge, "1", "Whether the journal cannot be written");
        vec![
            entries(
                "contrail_journal_entries",
                Kind::Counter,
                "Entries that the journal holds",
                load(&journal.recorded),
            ),
            entries("contrail_journal_entries_lost", Kind::Counter, lost, load(&journal.lost)),
            entries("contrail_journal_entries_pending", Kind::Level, waiting, journal.pending()),
            total("contrail_journal_write_seconds", "Writes to the journal", &journal.writes, &journal.write_nanos),
            total(
                "contrail_journal_sync_seconds",
                "Syncs of the journal (--durable)",
                &journal.syncs,
                &journal.sync_nanos,
            ),
            failing.count(u64::from(journal.failure().is_some())),
        ]
    }

    fn of_telemetry(&self) -> Vec<Family> {
        let telemetry = &self.telemetry;
        let mut spans = Family::new("contrail_otlp_spans", Kind::Counter, "{span}", "Spans for --otlp, by outcome");
        for (outcome, count) in
            [("sent", &telemetry.sent), ("dropped", &telemetry.dropped), ("rejected", &telemetry.rejected)]
        {
            spans = spans.with(label("outcome", outcome), Value::Count(load(count)));
        }
        let help = "Requests to the receiver of --otlp that failed";
        let failures = Family::new("contrail_otlp_failures", Kind::Counter, "{request}", help);
        vec![spans, failures.count(load(&telemetry.failures))]
    }
}

fn of_exchanges(exchanges: &Exchanges, grain: Grain) -> Vec<Family> {
    let operations = sorted(&exchanges.operations);
    let documented = || operations.iter().map(|(name, held)| (&***name, *held));
    let operations = || documented().chain([(UNDOCUMENTED, &exchanges.undocumented)]);
    let mut durations = Family::new(DURATION, Kind::Histogram, "s", "Duration of HTTP server requests");
    let mut verdicts =
        Family::new("contrail_exchanges", Kind::Counter, "{exchange}", "Exchanges by operation and verdict");
    for (operation, held) in operations() {
        for (labels, merged) in merged(operation, held, grain) {
            durations = durations.with(labels, Value::Durations(Box::new(merged)));
        }
        for (verdict, count) in in_order(&held.verdicts) {
            let labels = vec![("operation", operation.to_owned().into()), ("verdict", (*verdict).into())];
            verdicts = verdicts.with(labels, Value::Count(*count));
        }
    }
    let mut findings = Family::new("contrail_findings", Kind::Counter, "{finding}", "Findings by rule");
    for rule in Rule::ALL {
        let count = exchanges.findings.get(rule).copied().unwrap_or_default();
        let labels = vec![("rule", rule.id().into()), ("kind", rule.kind().name().into())];
        findings = findings.with(labels, Value::Count(count));
    }
    let help = "Exchanges of which an aspect could not be checked";
    let mut unchecked = Family::new("contrail_unchecked", Kind::Counter, "{exchange}", help);
    for (aspect, count) in Unchecked::ALL.into_iter().zip(exchanges.unchecked) {
        unchecked = unchecked.with(label("aspect", aspect.name()), Value::Count(count));
    }
    let help = "Exchanges that ended before they were whole";
    let incomplete = Family::new("contrail_exchanges_incomplete", Kind::Counter, "{exchange}", help);
    let help = "Bytes of bodies that were captured";
    let mut captured = Family::new("contrail_captured_bytes", Kind::Counter, "By", help);
    for (message, bytes) in ["request", "response"].into_iter().zip(exchanges.captured) {
        captured = captured.with(label("message", message), Value::Count(bytes));
    }
    vec![durations, verdicts, findings, unchecked, incomplete.count(exchanges.incomplete), captured]
}

/// The durations of an operation by their labels, in their order.
fn merged(operation: &str, held: &OfOperation, grain: Grain) -> BTreeMap<Labels, Durations> {
    let mut all: BTreeMap<Labels, Durations> = BTreeMap::new();
    for (answered, durations) in &held.durations {
        let mut labels: Labels = vec![("operation", operation.to_owned().into())];
        labels.extend(duration_labels(answered, grain));
        all.entry(labels).or_default().merge(durations);
    }
    all
}

fn duration_labels(answered: &DurationLabels, grain: Grain) -> Labels {
    let DurationLabels { method, scheme, class, status } = *answered;
    if grain == Grain::Classes {
        return vec![("http.request.method", method.into()), ("status_class", class.into())];
    }
    let mut labels: Labels = vec![("http.request.method", method.into()), ("url.scheme", scheme.into())];
    labels.extend(status.map(|status| ("http.response.status_code", status.to_string().into())));
    let error = match (class, status) {
        ("5xx", Some(status)) => Some(status.to_string().into()),
        ("5xx", None) => Some(class.into()),
        ("none", _) => Some(INCOMPLETE.into()),
        _ => None,
    };
    labels.extend(error.map(|error: Cow<'static, str>| ("error.type", error)));
    labels
}

/// The `error.type` of an exchange that is not whole.
pub const INCOMPLETE: &str = "incomplete";

fn of_gauges(gauges: Gauges) -> Vec<Family> {
    let level = |name, unit, help, count| Family::new(name, Kind::Level, unit, help).count(count);
    let limit = "Maximum of open connections (--max-connections)";
    let memory = "Bytes of --max-captured that bodies in progress take";
    let dropped = "Exchange lines dropped, since standard error is read too slowly";
    vec![
        level("http_server_active_requests", "{request}", "Exchanges in progress", gauges.exchanges),
        level("contrail_connections", "{connection}", "Open connections of clients", gauges.connections),
        level("contrail_connections_limit", "{connection}", limit, gauges.max_connections),
        level("contrail_capture_memory_bytes", "By", memory, gauges.captured),
        Family::new("contrail_console_lines_dropped", Kind::Counter, "{line}", dropped).count(gauges.lines_dropped),
    ]
}

/// A single label.
fn label(name: &'static str, value: impl Into<Cow<'static, str>>) -> Labels {
    vec![(name, value.into())]
}

fn load(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

/// The members of a list in the order of their keys.
fn in_order<K: Ord, V>(list: &[(K, V)]) -> BTreeMap<&K, &V> {
    list.iter().map(|(key, value)| (key, value)).collect()
}

/// The members of a map in the order of their keys.
fn sorted<K: Ord + Hash, V, S: BuildHasher>(map: &HashMap<K, V, S>) -> BTreeMap<&K, &V> {
    map.iter().collect()
}
