//! Where the result of a command goes.

use contrail_report::Request;

use super::Format;

/// Output and reports of a command that only reads recordings.
#[derive(Debug, clap::Args)]
pub struct OutputArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Write a report as text, json, html, markdown, junit, sarif, github or csv to FILE, or to standard output
    /// instead of the usual output; repeatable
    #[arg(long, value_name = "FORMAT[=FILE]")]
    pub report: Vec<Request>,
}
