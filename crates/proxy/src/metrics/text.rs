//! The text formats: Prometheus 0.0.4, and OpenMetrics 1.0.0.

use std::fmt::{Display, Write as _};

use super::family::Kind;

/// A text format of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextFormat {
    /// Prometheus text, version 0.0.4.
    Prometheus,
    /// OpenMetrics text, version 1.0.0.
    OpenMetrics,
}

impl TextFormat {
    /// The format for a client that sends this `Accept` header.
    pub(super) fn accepted(accept: &str) -> Self {
        if accept.contains("application/openmetrics-text") { Self::OpenMetrics } else { Self::Prometheus }
    }

    /// The media type of a page.
    pub(super) fn media_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// A page in the making.
#[derive(Debug)]
pub(super) struct Text {
    format: TextFormat,
    out: String,
}

impl Text {
    pub(super) fn new(format: TextFormat) -> Self {
        Self { format, out: String::new() }
    }

    /// Begins a family. Samples of a counter end in `_total`, its name does not.
    pub(super) fn family(&mut self, name: &str, kind: Kind, help: &str) {
        // In Prometheus text the family of a counter is called as its samples are.
        let suffix = if kind == Kind::Counter && self.format == TextFormat::Prometheus { "_total" } else { "" };
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Level | Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
            Kind::Summary => "summary",
        };
        let _ = writeln!(self.out, "# HELP {name}{suffix} {help}");
        let _ = writeln!(self.out, "# TYPE {name}{suffix} {kind}");
    }

    /// Adds a sample of the family.
    pub(super) fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.out.push_str(name);
        for (index, (label, text)) in labels.iter().enumerate() {
            self.out.push(if index == 0 { '{' } else { ',' });
            let _ = write!(self.out, "{label}=\"");
            escape(text, &mut self.out);
            self.out.push('"');
        }
        if !labels.is_empty() {
            self.out.push('}');
        }
        let _ = writeln!(self.out, " {value}");
    }

    /// The page.
    pub(super) fn finish(mut self) -> String {
        if self.format == TextFormat::OpenMetrics {
            self.out.push_str("# EOF\n");
        }
        self.out
    }
}

/// Appends the value of a label.
fn escape(text: &str, out: &mut String) {
    for character in text.chars() {
        match character {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            other => out.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(format: TextFormat) -> String {
        let mut text = Text::new(format);
        text.family("a_calls", Kind::Counter, "Calls");
        text.sample("a_calls_total", &[("operation", "say \"a\\b\"\nagain"), ("kind", "x")], 3);
        text.family("b", Kind::Gauge, "Now");
        text.sample("b", &[], 0.5);
        text.finish()
    }

    #[test]
    fn a_page_is_prometheus_text_with_escaped_labels() {
        let expected = "# HELP a_calls_total Calls\n# TYPE a_calls_total counter\n\
                        a_calls_total{operation=\"say \\\"a\\\\b\\\"\\nagain\",kind=\"x\"} 3\n\
                        # HELP b Now\n# TYPE b gauge\nb 0.5\n";
        assert_eq!(page(TextFormat::Prometheus), expected);
    }

    #[test]
    fn in_openmetrics_a_counter_s_family_has_no_suffix_and_the_page_an_end() {
        let page = page(TextFormat::OpenMetrics);
        assert!(page.starts_with("# HELP a_calls Calls\n# TYPE a_calls counter\na_calls_total{"), "{page}");
        assert!(page.ends_with("b 0.5\n# EOF\n"), "{page}");
    }

    #[test]
    fn a_client_gets_openmetrics_only_if_it_accepts_it() {
        let prometheus = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        assert_eq!(TextFormat::accepted(prometheus), TextFormat::OpenMetrics);
        assert_eq!(TextFormat::accepted("*/*"), TextFormat::Prometheus);
        assert_eq!(TextFormat::accepted(""), TextFormat::Prometheus);
    }
}
