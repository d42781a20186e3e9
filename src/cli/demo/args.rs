//! The options of `demo`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use contrail_recording::private_folder;

use crate::cli::{ContractArgs, Failure};

/// Run record, verify and replay end to end, offline
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Output folder, empty or new [default: a new temporary folder]
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    #[command(flatten)]
    pub(super) contract: ContractArgs,
}

/// An empty folder.
pub(super) fn folder(asked: Option<&Path>) -> Result<PathBuf, Failure> {
    let Some(folder) = asked else {
        return Ok(tempfile::Builder::new().prefix("contrail-demo-").tempdir()?.keep());
    };
    let cannot = |error| format!("cannot use {} for --out: {error}", folder.display());
    private_folder(folder).map_err(cannot)?;
    if fs::read_dir(folder).map_err(cannot)?.next().is_some() {
        return Err(format!("{} is not empty; name a new folder with --out", folder.display()).into());
    }
    Ok(folder.canonicalize().map_err(cannot)?)
}
