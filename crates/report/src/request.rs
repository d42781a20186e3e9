//! Which reports are written, and where.

use std::{path::PathBuf, str::FromStr};

/// A kind of report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ReportFormat {
    /// For people, on a terminal.
    Text,
    /// Every exchange with its findings, for machines.
    Json,
    /// One self-contained page.
    Html,
    /// `CommonMark` with tables, for job summaries.
    Markdown,
    /// `JUnit` XML, for the test pages of CI systems.
    Junit,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// Annotations of GitHub Actions.
    Github,
    /// Rows for a spreadsheet.
    Csv,
}

/// A report that was asked for: `FORMAT` or `FORMAT=-` (to standard output), or `FORMAT=FILE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Which kind.
    pub kind: ReportFormat,
    /// Where to; `None` for standard output.
    pub file: Option<PathBuf>,
}

impl FromStr for Request {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let (kind, file) = match word.split_once('=') {
            None => (word, None),
            Some((kind, "-")) => (kind, None),
            Some((_, "")) => return Err("the file name after `=` is empty; write FORMAT=FILE".to_owned()),
            Some((kind, file)) => (kind, Some(PathBuf::from(file))),
        };
        let kind = <ReportFormat as clap::ValueEnum>::from_str(kind, false).map_err(|_| {
            let formats = "text, json, html, markdown, junit, sarif, github and csv";
            format!("`{kind}` is not a report format; there are {formats}")
        })?;
        Ok(Self { kind, file })
    }
}
