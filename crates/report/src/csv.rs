//! Comma-separated values (RFC 4180).

use std::io::{self, Write};

use contrail_exchange::visible::visible_lines;

use super::cases::{Level, Suite};

/// Rows under a head.
#[derive(Debug)]
pub(super) struct Csv {
    pub(super) columns: &'static [&'static str],
    pub(super) rows: Vec<Vec<String>>,
}

impl Csv {
    /// A row per case that did not pass.
    pub(super) fn of(suites: &[Suite]) -> Self {
        let columns = &[
            "suite", "case", "level", "kind", "message", "detail", "times", "source", "entry", "line", "started",
            "method", "url", "status",
        ];
        let cases = suites.iter().flat_map(|suite| suite.cases.iter().map(move |case| (suite, case)));
        let row = |(suite, case): (&Suite, &super::cases::Case)| {
            let trouble = case.trouble.as_ref()?;
            let level = if trouble.level == Level::Note { "note" } else { "error" };
            let mut row = vec![
                suite.name.clone(),
                case.name.clone(),
                level.to_owned(),
                trouble.kind.to_owned(),
                trouble.message.clone(),
                trouble.text.clone(),
                trouble.count.to_string(),
            ];
            row.extend(trouble.cited.as_ref().map_or_else(|| vec![String::new(); 7], super::Cited::cells));
            Some(row)
        };
        Self { columns, rows: cases.filter_map(row).collect() }
    }

    pub(super) fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        write!(to, "{}\r\n", self.columns.join(","))?;
        for row in &self.rows {
            let cells: Vec<String> = row.iter().map(|cell| quoted(cell)).collect();
            write!(to, "{}\r\n", cells.join(","))?;
        }
        Ok(())
    }
}

/// A field, in quotes where it has to be. Text that a spreadsheet would take for a formula starts with an apostrophe.
fn quoted(field: &str) -> String {
    let text = visible_lines(field);
    let text = if text.starts_with(['=', '+', '-', '@']) { format!("'{text}") } else { text };
    if text.contains(['"', ',', '\n', '\'']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_holds_any_text_and_is_no_formula() {
        let rows = vec![vec!["a,b".to_owned(), "\"q\"\n".to_owned()], vec!["=1+1".to_owned(), "\t\x1b[2J".to_owned()]];
        let mut written = Vec::new();
        Csv { columns: &["x", "y"], rows }.write(&mut written).unwrap();
        let expected = "x,y\r\n\"a,b\",\"\"\"q\"\"\n\"\r\n\"'=1+1\",\\t\\u{1b}[2J\r\n";
        assert_eq!(String::from_utf8(written).unwrap(), expected);
    }
}
