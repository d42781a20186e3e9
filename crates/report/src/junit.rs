//! `JUnit` XML.
//!
//! What makes the command fail is a `failure`; the rest is `skipped` with its text, so that it shows without failing
//! the build. Valid against the schema that Jenkins publishes (`junit-10.xsd`), which knows `file` for suites only.

use std::{
    io::{self, Write},
    time::Duration,
};

use super::{
    Facts,
    cases::{Case, Level, Suite, Trouble},
    xml::escape,
};

pub(super) fn write(facts: &Facts<'_>, suites: &[Suite], to: &mut dyn Write) -> io::Result<()> {
    let sum = |level| suites.iter().map(|suite| count(suite, level)).sum::<usize>();
    writeln!(to, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(
        to,
        "<testsuites name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"{}\">",
        escape(&facts.title.in_words()),
        suites.iter().map(|suite| suite.cases.len()).sum::<usize>(),
        sum(Level::Failure),
        sum(Level::Error),
        seconds(suites.iter().map(took).sum())
    )?;
    // A suite that is about several files is about none.
    let file = match facts.sources {
        [only] => format!(" file=\"{}\"", escape(only)),
        _ => String::new(),
    };
    for suite in suites {
        write_suite(suite, &file, to)?;
    }
    writeln!(to, "</testsuites>")
}

fn write_suite(suite: &Suite, file: &str, to: &mut dyn Write) -> io::Result<()> {
    let name = escape(&suite.name);
    writeln!(
        to,
        "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\" errors=\"{}\" time=\"{}\"{file}>",
        suite.cases.len(),
        count(suite, Level::Failure),
        count(suite, Level::Note),
        count(suite, Level::Error),
        seconds(took(suite))
    )?;
    if !suite.properties.is_empty() {
        writeln!(to, "    <properties>")?;
        for (name, value) in &suite.properties {
            writeln!(to, "      <property name=\"{name}\" value=\"{}\"/>", escape(value))?;
        }
        writeln!(to, "    </properties>")?;
    }
    for Case { name: case, took, trouble } in &suite.cases {
        let case = escape(case);
        write!(to, "    <testcase classname=\"contrail.{name}\" name=\"{case}\" time=\"{}\"", seconds(*took))?;
        let Some(Trouble { level, kind, message, text, .. }) = trouble else {
            writeln!(to, "/>")?;
            continue;
        };
        let element = match level {
            Level::Failure => "failure",
            Level::Error => "error",
            Level::Note => "skipped",
        };
        writeln!(
            to,
            ">\n      <{element} type=\"{kind}\" message=\"{}\">{}</{element}>\n    </testcase>",
            escape(message),
            escape(text)
        )?;
    }
    writeln!(to, "  </testsuite>")
}

fn count(suite: &Suite, level: Level) -> usize {
    suite.cases.iter().flat_map(|case| &case.trouble).filter(|trouble| trouble.level == level).count()
}

fn took(suite: &Suite) -> Duration {
    suite.cases.iter().map(|case| case.took).sum()
}

/// Seconds as the schema wants them: up to three digits after the point.
fn seconds(time: Duration) -> String {
    format!("{}.{:03}", time.as_secs(), time.subsec_millis())
}
