//! Settings: flags, then `CONTRAIL_*` variables, then `contrail.toml`; all checked before a port is bound.
//!
//! A flag beats a variable beats the file, and a table of the file beats its top; so does an option beat those that it
//! excludes. Every option `--some-name` of every command has the variable
//! `CONTRAIL_SOME_NAME` and the key `some-name` in the file, at its top for every command that has the option or in a
//! table named after a command for that one alone. An empty variable counts as unset.
//!
//! What a command writes, and what it replaces, is no setting of all commands: the options in [`ACTS`] stand in the
//! command's table only, and their variables name the command (`CONTRAIL_RECORD_OUT`).
//!
//! clap reads the variables; the file's values are inserted into the command line, so that the same code checks all
//! three. [`Sources`] records where each option's value came from, for messages.

mod discovery;
mod error;
mod file;
mod sources;
mod suppress;
#[cfg(test)]
mod tests;
mod variables;

pub use self::{
    discovery::file,
    error::ConfigError,
    file::{Completed, Ignored, complete},
    sources::{Source, Sources},
    variables::{misspelt_variables, with_variables},
};

/// The file that is read from the working directory, or from above it up to the root of its repository.
pub const FILE: &str = "contrail.toml";

/// Options that neither a variable nor the file sets. `CONTRAIL_CONTROL` is what CMD finds the listener by.
const NO_SETTINGS: [&str; 3] = ["help", "version", "control"];

/// Options that say which file counts, so no file sets them.
const OF_THE_FILE: [&str; 2] = ["config", "no-config"];

/// Options that name what one command writes, or make it do something else: destinations and acts.
const ACTS: [&str; 16] = [
    "append",
    "check",
    "env-file",
    "explain",
    "export",
    "force",
    "in-place",
    "out",
    "overwrite",
    "parquet",
    "print-seed",
    "prune",
    "record-missing",
    "replace",
    "suggest",
    "used",
];

/// Whether an option belongs to one command at a time.
fn is_act(long: &str) -> bool {
    ACTS.contains(&long)
}
