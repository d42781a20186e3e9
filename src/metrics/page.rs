//! The page at `/metrics`. `docs/operations.md` lists its families.

use std::{
    collections::{BTreeMap, HashMap},
    hash::{BuildHasher, Hash},
    sync::{PoisonError, atomic::Ordering},
    time::{Duration, UNIX_EPOCH},
};

use super::{
    exchanges::{BOUNDS, Durations, Exchanges},
    registry::{Gauges, Metrics},
    text::{Kind, Text, TextFormat},
};
use crate::finding::{Rule, UNDOCUMENTED, Unchecked};

/// The values of `Contrail-Answer` that mean that the upstream gave no answer.
const UPSTREAM_FAILURES: [&str; 3] = ["max-upstream", "upstream", "upstream-timeout"];

const DURATION: &str = "http_server_request_duration_seconds";

impl Metrics {
    /// The page.
    pub(super) fn page(&self, format: TextFormat) -> String {
        let subject = self.subject.get();
        let exchanges = subject.map(|subject| subject.exchanges()).unwrap_or_default();
        let gauges = subject.map(|subject| subject.gauges()).unwrap_or_default();
        let contract = subject.and_then(|subject| subject.contract());
        let mut text = Text::new(format);
        self.write_process(&mut text, contract.as_deref());
        write_exchanges(&mut text, &exchanges);
        self.write_refusals(&mut text, &exchanges);
        write_gauges(&mut text, gauges);
        self.write_journal(&mut text);
        text.finish()
    }

    fn write_process(&self, text: &mut Text, contract: Option<&str>) {
        let version = env!("CARGO_PKG_VERSION");
        text.family("contrail_build_info", Kind::Gauge, "Version of contrail");
        text.sample("contrail_build_info", &[("version", version)], 1);
        if let Some(hash) = contract {
            text.family("contrail_contract_info", Kind::Gauge, "SHA-256 of the contract in force");
            text.sample("contrail_contract_info", &[("sha256", hash)], 1);
        }
        text.family("contrail_reloads", Kind::Counter, "Times that SIGHUP had files read again");
        for (outcome, count) in ["succeeded", "failed"].into_iter().zip(&self.reloads) {
            text.sample("contrail_reloads_total", &[("outcome", outcome)], count.load(Ordering::Relaxed));
        }
        let started = self.started.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let help = "Start of the process, seconds since 1970";
        text.single("process_start_time_seconds", Kind::Gauge, help, started);
    }

    fn write_refusals(&self, text: &mut Text, exchanges: &Exchanges) {
        let name = "contrail_answers";
        text.family(name, Kind::Counter, "Requests that contrail answered itself, by the value of Contrail-Answer");
        for (reason, count) in sorted(&exchanges.answered) {
            text.sample("contrail_answers_total", &[("reason", reason)], count);
        }
        let name = "contrail_upstream_failures";
        text.family(
            name,
            Kind::Counter,
            "Requests to which the upstream gave no answer, by the value of Contrail-Answer",
        );
        for reason in UPSTREAM_FAILURES {
            let count = exchanges.answered.get(reason).copied().unwrap_or_default();
            text.sample("contrail_upstream_failures_total", &[("reason", reason)], count);
        }
        let name = "contrail_requests_rejected";
        text.family(name, Kind::Counter, "Requests rejected before they became exchanges, by status");
        let rejected = self.rejected.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for (status, count) in rejected {
            let status = if status == 0 { "none".to_owned() } else { status.to_string() };
            text.sample("contrail_requests_rejected_total", &[("http_response_status_code", &status)], count);
        }
        let left_out = self.left_out.load(Ordering::Relaxed);
        let help = "Exchanges that --only or --exclude leaves out";
        text.single("contrail_exchanges_left_out", Kind::Counter, help, left_out);
        let errors = self.internal_errors.load(Ordering::Relaxed);
        let help = "Checks, redactions and encodings that failed because of a bug";
        text.single("contrail_internal_errors", Kind::Counter, help, errors);
    }

    fn write_journal(&self, text: &mut Text) {
        let journal = &self.journal;
        let load = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        let (recorded, lost) = (load(&journal.recorded), load(&journal.lost));
        text.single("contrail_journal_entries", Kind::Counter, "Entries that the journal holds", recorded);
        text.single("contrail_journal_entries_lost", Kind::Counter, "Entries that could not be written", lost);
        let help = "Entries that wait for the write, or for the disk under --durable";
        text.single("contrail_journal_entries_pending", Kind::Gauge, help, journal.pending());
        for (name, help, count, nanos) in [
            ("contrail_journal_write_seconds", "Writes to the journal", &journal.writes, &journal.write_nanos),
            ("contrail_journal_sync_seconds", "Syncs of the journal (--durable)", &journal.syncs, &journal.sync_nanos),
        ] {
            text.family(name, Kind::Summary, help);
            text.sample(&format!("{name}_sum"), &[], Duration::from_nanos(load(nanos)).as_secs_f64());
            text.sample(&format!("{name}_count"), &[], load(count));
        }
        let is_failing = u8::from(journal.failure().is_some());
        text.single("contrail_journal_failing", Kind::Gauge, "Whether the journal cannot be written", is_failing);
    }
}

fn write_exchanges(text: &mut Text, exchanges: &Exchanges) {
    text.family(DURATION, Kind::Histogram, "Duration of HTTP server requests");
    let operations = sorted(&exchanges.operations);
    let documented = || operations.iter().map(|(name, held)| (&***name, *held));
    let operations = || documented().chain([(UNDOCUMENTED, &exchanges.undocumented)]);
    for (operation, held) in operations() {
        for ((method, status), durations) in in_order(&held.durations) {
            let labels = [("operation", operation), ("http_request_method", method), ("status_class", status)];
            write_durations(text, labels, durations);
        }
    }
    text.family("contrail_exchanges", Kind::Counter, "Exchanges by operation and verdict");
    for (operation, held) in operations() {
        for (verdict, count) in in_order(&held.verdicts) {
            text.sample("contrail_exchanges_total", &[("operation", operation), ("verdict", verdict)], count);
        }
    }
    text.family("contrail_findings", Kind::Counter, "Findings by rule");
    for rule in Rule::ALL {
        let count = exchanges.findings.get(rule).copied().unwrap_or_default();
        text.sample("contrail_findings_total", &[("rule", rule.id()), ("kind", rule.kind().name())], count);
    }
    text.family("contrail_unchecked", Kind::Counter, "Exchanges of which an aspect could not be checked");
    for (aspect, count) in Unchecked::ALL.into_iter().zip(exchanges.unchecked) {
        text.sample("contrail_unchecked_total", &[("aspect", aspect.name())], count);
    }
    let help = "Exchanges that ended before they were whole";
    text.single("contrail_exchanges_incomplete", Kind::Counter, help, exchanges.incomplete);
    text.family("contrail_captured_bytes", Kind::Counter, "Bytes of bodies that were captured");
    for (message, bytes) in ["request", "response"].into_iter().zip(exchanges.captured) {
        text.sample("contrail_captured_bytes_total", &[("message", message)], bytes);
    }
}

fn write_durations(text: &mut Text, labels: [(&str, &str); 3], durations: &Durations) {
    let bounds = BOUNDS.iter().map(|(_, bound)| *bound).chain(["+Inf"]);
    let mut count = 0;
    for (bound, bucket) in bounds.zip(durations.buckets) {
        count += bucket;
        let [operation, method, status] = labels;
        text.sample(&format!("{DURATION}_bucket"), &[operation, method, status, ("le", bound)], count);
    }
    text.sample(&format!("{DURATION}_sum"), &labels, durations.sum.as_secs_f64());
    text.sample(&format!("{DURATION}_count"), &labels, count);
}

fn write_gauges(text: &mut Text, gauges: Gauges) {
    let help = "Exchanges in progress";
    text.single("http_server_active_requests", Kind::Gauge, help, gauges.exchanges);
    text.single("contrail_connections", Kind::Gauge, "Open connections of clients", gauges.connections);
    let help = "Maximum of open connections (--max-connections)";
    text.single("contrail_connections_limit", Kind::Gauge, help, gauges.max_connections);
    let help = "Bytes of --max-captured that bodies in progress take";
    text.single("contrail_capture_memory_bytes", Kind::Gauge, help, gauges.captured);
    let help = "Exchange lines dropped, since standard error is read too slowly";
    text.single("contrail_console_lines_dropped", Kind::Counter, help, gauges.lines_dropped);
}

/// The members of a list in the order of their keys.
fn in_order<K: Ord, V>(list: &[(K, V)]) -> BTreeMap<&K, &V> {
    list.iter().map(|(key, value)| (key, value)).collect()
}

/// The members of a map in the order of their keys.
fn sorted<K: Ord + Hash, V, S: BuildHasher>(map: &HashMap<K, V, S>) -> BTreeMap<&K, &V> {
    map.iter().collect()
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;
    use crate::{
        finding::Verdict,
        metrics::{Observed, Subject},
    };

    #[derive(Debug)]
    struct Server(Exchanges);

    impl Subject for Server {
        fn exchanges(&self) -> Exchanges {
            self.0.clone()
        }

        fn contract(&self) -> Option<String> {
            Some("c0ffee".to_owned())
        }
    }

    fn page(exchanges: Exchanges) -> String {
        let metrics = Metrics::new(([127, 0, 0, 1], 1).into());
        metrics.serve(Box::new(Server(exchanges)));
        metrics.page(TextFormat::Prometheus)
    }

    #[test]
    fn the_buckets_of_a_histogram_are_cumulative_and_end_with_its_count() {
        let mut counted = Exchanges::default();
        let verdict = Verdict { operation: Some("getRateLimitPolicy".into()), ..Verdict::default() };
        for millis in [1, 30, 20_000] {
            counted.count(&Observed {
                verdict: &verdict,
                conclusion: "conforms",
                method: &Method::GET,
                status: Some(200),
                took: Duration::from_millis(millis),
                answered: None,
                incomplete: false,
                captured: [0, 0],
            });
        }
        let page = page(counted);
        let samples: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix(DURATION)).collect();
        let labels = "operation=\"getRateLimitPolicy\",http_request_method=\"GET\",status_class=\"2xx\"";
        assert_eq!(samples.len(), 17);
        assert_eq!(samples[0], format!("_bucket{{{labels},le=\"0.005\"}} 1"));
        assert_eq!(samples[3], format!("_bucket{{{labels},le=\"0.05\"}} 2"));
        assert_eq!(samples[13], format!("_bucket{{{labels},le=\"10.0\"}} 2"));
        assert_eq!(samples[14], format!("_bucket{{{labels},le=\"+Inf\"}} 3"));
        assert_eq!(samples[15..], [format!("_sum{{{labels}}} 20.031"), format!("_count{{{labels}}} 3")]);
    }

    #[test]
    fn every_rule_and_every_upstream_failure_is_there_before_it_occurs() {
        let page = page(Exchanges::default());
        for rule in Rule::ALL {
            let line = format!("contrail_findings_total{{rule=\"{}\",kind=\"{}\"}} 0", rule.id(), rule.kind().name());
            assert!(page.lines().any(|held| held == line), "{line}");
        }
        assert!(page.contains("contrail_upstream_failures_total{reason=\"upstream-timeout\"} 0\n"), "{page}");
        assert!(page.contains("contrail_contract_info{sha256=\"c0ffee\"} 1\n"), "{page}");
    }
}
