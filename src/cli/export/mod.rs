//! `contrail export`: recordings as tables for query engines.

use std::{path::PathBuf, time::Duration};

use super::{
    ContractArgs, Failure, Format, Outcome,
    options::{
        SecretArgs, SelectionArgs,
        values::{positive, seconds_or_none, size_above_zero},
    },
};

#[cfg(feature = "fleet")]
mod folder;
#[cfg(feature = "fleet")]
mod tables;

/// Write recordings as Parquet tables (needs the feature `fleet`)
#[derive(Debug, clap::Args)]
#[cfg_attr(not(feature = "fleet"), allow(dead_code))] // the options are those of every build
pub struct Args {
    /// HAR files of any tool, journals, trails, or folders of them; `-` reads standard input
    #[arg(value_name = "FILE", required = true)]
    pub(super) recordings: Vec<PathBuf>,
    /// Folder for exchanges.parquet, findings.parquet and tokens.parquet; made if it is missing
    #[arg(long, value_name = "OUT")]
    parquet: PathBuf,
    /// Replace the tables of an earlier export
    #[arg(long)]
    overwrite: bool,
    /// Maximum rows of a row group
    #[arg(long, value_name = "N", default_value = "100000", value_parser = positive::<usize>)]
    group_rows: usize,
    /// Maximum bytes of a row group in memory, before it is encoded
    #[arg(long, value_name = "BYTES", default_value = "64MiB", value_parser = size_above_zero)]
    group_bytes: usize,
    /// File with heads of the trail's hash chain, written by `--head-to`; the chain must contain those of its
    /// trail; repeatable
    #[arg(long, value_name = "FILE")]
    head: Vec<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    selection: SelectionArgs,
    /// Tolerance for the `exp` and `nbf` of tokens
    #[arg(long, value_name = "SECS", default_value = "0", value_parser = seconds_or_none)]
    clock_skew: Duration,
    /// JSON Web Key Set to check the signatures of tokens that a file still contains
    #[arg(long, value_name = "FILE")]
    jwks: Option<PathBuf>,
    #[command(flatten)]
    secrets: SecretArgs,
    #[command(flatten)]
    contract: ContractArgs,
}

#[cfg(feature = "fleet")]
pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    tables::write(args)
}

#[cfg(not(feature = "fleet"))]
pub(super) fn run(_: &Args) -> Result<Outcome, Failure> {
    Err("`export --parquet` needs a contrail that was built with `--features fleet`".into())
}
