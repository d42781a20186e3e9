//! Annotations of GitHub Actions: one workflow command per line, `error` for what sets the exit status, `notice` for
//! the rest.

use std::io::{self, Write};

use contrail_exchange::visible::{visible, visible_lines};

use super::cases::{Case, Level, Suite};

pub(super) fn write(suites: &[Suite], to: &mut dyn Write) -> io::Result<()> {
    for suite in suites {
        for Case { name, trouble, .. } in &suite.cases {
            let Some(trouble) = trouble else { continue };
            let command = if trouble.level == Level::Note { "notice" } else { "error" };
            write!(to, "::{command} ")?;
            if let Some(cited) = trouble.cited.as_ref().filter(|cited| cited.is_in_file()) {
                write!(to, "file={},", property(&cited.source))?;
                if let Some(line) = cited.line {
                    write!(to, "line={line},")?;
                }
            }
            let title = property(&format!("{}: {name}", suite.name));
            let text = if trouble.text.is_empty() { String::new() } else { format!("\n{}", trouble.text) };
            writeln!(to, "title={title}::{}", data(&format!("{}{text}", trouble.message)))?;
        }
    }
    Ok(())
}

/// The text of a command, escaped as the runner reads it. The log of a step is a terminal, too.
fn data(text: &str) -> String {
    visible_lines(text).replace('%', "%25").replace('\n', "%0A")
}

/// The value of a property: `:` and `,` separate these.
fn property(text: &str) -> String {
    data(&visible(text)).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cited, cases::Trouble};

    #[test]
    fn text_of_the_traffic_starts_no_command_and_ends_no_property() {
        let mut suite = Suite::new("op");
        let cited = Cited { source: "a,b:c.journal".into(), line: Some(3), ..Cited::default() };
        let trouble = Trouble::new(Level::Failure, "response.body", "expected 5 %\x1b[2J\r\n::stop-commands::x");
        suite.add("response.body at /a\x1b\n", Trouble { cited: Some(cited), ..trouble.with_text("once") });
        suite.add("other", Trouble::new(Level::Note, "unused", "never"));
        let mut written = Vec::new();
        write(&[suite], &mut written).unwrap();
        assert_eq!(
            String::from_utf8(written).unwrap(),
            "::error file=a%2Cb%3Ac.journal,line=3,title=op%3A response.body at /a\\u{1b}\\n::expected 5 %25\\u{1b}[2J\\r%0A::stop-commands::x%0Aonce\n\
             ::notice title=op%3A other::never\n"
        );
    }
}
