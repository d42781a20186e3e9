//! Options of every command.

use std::path::PathBuf;

use clap::{ArgMatches, Args as _, Command, FromArgMatches as _};

use crate::cli::printer::Colour;

/// Options of every command
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Every command")]
pub struct CommonArgs {
    /// Colour of what is printed for people
    #[arg(long, value_name = "WHEN", value_enum, default_value_t)]
    pub color: Colour,
    /// Read settings from this file [default: `contrail.toml` here or above, up to the repository's root]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Read no file of settings
    #[arg(long, conflicts_with = "config")]
    pub no_config: bool,
}

impl CommonArgs {
    /// Gives them to every command.
    pub(in crate::cli) fn of_every(command: Command) -> Command {
        let common = Self::augment_args(Command::new(""));
        command.mut_subcommands(|sub| sub.args(common.get_arguments()))
    }

    /// Their values.
    pub(in crate::cli) fn read(matches: &ArgMatches) -> Option<Self> {
        let (_, matches) = matches.subcommand()?;
        Self::from_arg_matches(matches).ok()
    }
}
