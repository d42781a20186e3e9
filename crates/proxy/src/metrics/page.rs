//! The page at `/metrics`.

use super::{
    family::{Family, Grain, Kind, Value},
    registry::Metrics,
    text::{Text, TextFormat},
};

impl Metrics {
    /// The page.
    pub(super) fn page(&self, format: TextFormat) -> String {
        let mut text = Text::new(format);
        for family in self.families(Grain::Classes) {
            write(&mut text, &family);
        }
        text.finish()
    }
}

fn write(text: &mut Text, family: &Family) {
    let name = family.name;
    text.family(name, family.kind, family.help);
    for sample in &family.samples {
        let names: Vec<String> = sample.labels.iter().map(|(label, _)| label.replace('.', "_")).collect();
        let values = sample.labels.iter().map(|(_, value)| &**value);
        let mut labels: Vec<(&str, &str)> = names.iter().map(String::as_str).zip(values).collect();
        match &sample.value {
            Value::Count(count) if family.kind == Kind::Counter => {
                text.sample(&format!("{name}_total"), &labels, count);
            }
            Value::Count(count) => text.sample(name, &labels, count),
            Value::Number(number) => text.sample(name, &labels, number),
            Value::Total { sum, count } => {
                text.sample(&format!("{name}_sum"), &labels, sum.as_secs_f64());
                text.sample(&format!("{name}_count"), &labels, count);
            }
            Value::Durations(durations) => {
                let mut count = 0;
                for (bound, bucket) in durations.labelled() {
                    count += bucket;
                    labels.push(("le", bound));
                    text.sample(&format!("{name}_bucket"), &labels, count);
                    labels.pop();
                }
                text.sample(&format!("{name}_sum"), &labels, durations.sum.as_secs_f64());
                text.sample(&format!("{name}_count"), &labels, count);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::Method;

    use super::*;
    use crate::metrics::{Exchanges, Observed, Subject, families::DURATION};
    use contrail_exchange::finding::{Rule, Verdict};

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
        let metrics = Metrics::new(None);
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
                scheme: "https",
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
