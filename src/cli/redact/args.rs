//! The options of `contrail redact`.

use std::path::PathBuf;

use crate::cli::ContractArgs;

/// Remove the secrets from existing recordings
#[derive(Debug, clap::Args)]
pub struct Args {
    /// HAR files of any tool, or whole folders; `-` reads standard input
    #[arg(value_name = "FILE", required = true)]
    pub(in crate::cli) files: Vec<PathBuf>,
    /// Output path; a folder if the input is a folder [default for one file: standard output]
    #[arg(long, value_name = "PATH", conflicts_with = "in_place")]
    pub(super) out: Option<PathBuf>,
    /// Redact the files in place
    #[arg(long)]
    pub(in crate::cli) in_place: bool,
    /// Replace what exists at the output path; in a folder, the files of the same names
    #[arg(long)]
    pub(super) overwrite: bool,
    /// Write nothing; exit with status 1 if anything needs redaction
    #[arg(long, conflicts_with_all = ["in_place", "out"])]
    pub(super) check: bool,
    /// Redact this in addition to the built-in plan: `pointer:/a`, `header:NAME`, `regex:…` or `personal`; repeatable
    #[arg(long, value_name = "WHAT")]
    pub(super) redact: Vec<String>,
    #[command(flatten)]
    pub(super) contract: ContractArgs,
}
