//! Sessions: where their fixtures are, and what starts and ends them.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use contrail_proxy::sessions::is_name;

use crate::cli::messages::lacking;

/// Tests that share a contrail, each with a fixture of its own
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Sessions")]
pub struct SessionArgs {
    /// Folder with one fixture per session; a client names its session with the header `Contrail-Session`, the path
    /// prefix `/~NAME/`, or the user name of the proxy's URL
    #[arg(long, value_name = "DIR")]
    pub sessions: Option<PathBuf>,
    /// Address, on loopback, of a listener that starts, lists and ends sessions over HTTP
    #[arg(long, value_name = "ADDR")]
    pub control: Option<String>,
}

impl SessionArgs {
    /// What is wrong with an option that was `typed` and lacks another one, if one was.
    pub(in crate::cli) fn misplaced(&self, typed: &dyn Fn(&str) -> bool) -> Option<String> {
        (typed("control") && self.sessions.is_none()).then(|| lacking("control", "--sessions DIR"))
    }
}

/// The fixture of a session, in one of the two layouts, if it has one.
pub(in crate::cli) fn fixture_of(folder: &Path, name: &str) -> Option<PathBuf> {
    let places = [folder.join(name), folder.join(format!("{name}.har"))];
    places.into_iter().find(|place| place.exists())
}

/// The names of the sessions that are recorded in a folder.
pub(in crate::cli) fn recorded(folder: &Path) -> BTreeSet<String> {
    let items = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = items.filter_map(|item| {
        let name = item.file_name().into_string().ok()?;
        let name = if item.path().is_dir() { Some(&*name) } else { name.strip_suffix(".har") };
        name.filter(|name| is_name(name) && !name.starts_with('.')).map(str::to_owned)
    });
    names.collect()
}
