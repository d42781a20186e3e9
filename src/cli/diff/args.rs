//! The options of `contrail diff`.

use std::path::PathBuf;

use contrail_replay::Ignore;

use crate::{
    cli::{ContractArgs, options::OutputArgs},
    config::Sources,
};

/// Compare two recordings, or two contracts (--contract OLD --contract NEW) and what they make of recordings
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The old and the new recording to compare: fixtures, journals, HAR files of any tool, or folders of them; with
    /// two `--contract` options, any number of recordings to judge under both contracts
    #[arg(value_name = "FILE")]
    pub(in crate::cli) recordings: Vec<PathBuf>,
    /// The command line names the old contract and the new one.
    #[arg(skip)]
    pub(super) contracts: bool,
    /// Ignore this part of bodies: `pointer:/a/b` (`*` for any one member or item) or `body`, optionally after
    /// `OPERATION=`; repeatable
    #[arg(long, value_name = "[OPERATION=]WHAT")]
    pub(super) ignore: Vec<Ignore>,
    #[command(flatten)]
    pub(super) output: OutputArgs,
    #[command(flatten)]
    pub(super) contract: ContractArgs,
}

impl Args {
    /// Two contracts are compared if the command line names them; those of a variable or of the file judge together.
    pub(in crate::cli) fn set_mode(&mut self, sources: &Sources) {
        self.contracts = self.contract.contract.len() == 2 && sources.is_flag("contract");
    }
}
