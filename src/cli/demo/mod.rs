//! `contrail demo`: sandbox tenant, recording proxy, client, verify, replay, summary; all of it real, nothing of it
//! outside this machine.
//!
//! The tenant runs in this process, behind a socket. The proxy, the check of the recording and the replay are the
//! commands that everybody uses (`record`, `verify`, `replay`), run as processes of their own, and the demo says how.
//! Each step has an expected result ([`script`]); any other is marked and makes the exit status 1.

mod args;
mod child;
mod client;
mod contract;
mod line;
mod screen;
mod script;
mod tenant;

use std::{path::Path, time::Instant};

pub use args::Args;
use args::folder;
use child::FIXTURE;
use screen::Screen;

use super::{Failure, Outcome, messages::quoted};

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let folder = folder(args.out.as_deref())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(demo(&folder, args))
}

async fn demo(folder: &Path, args: &Args) -> Result<Outcome, Failure> {
    let begun = Instant::now();
    let mut screen = Screen::new();
    let options = if args.contract.is_built_in() {
        tenant::demo(folder, &mut screen).await?;
        Some(Vec::new())
    } else {
        contract::demo(folder, &args.contract, &mut screen).await?
    };
    let seconds = begun.elapsed().as_secs_f64();
    let verdict = match screen.surprises {
        0 => "All steps gave the expected result".to_owned(),
        1 => "One step did NOT give the expected result (see `!` above)".to_owned(),
        many => format!("{many} steps did NOT give the expected result (see `!` above)"),
    };
    screen.print(&format!("{verdict}, in {seconds:.1} s."))?;
    let outcome = Outcome { findings: screen.surprises > 0, ..Outcome::CLEAN };
    let Some(options) = options else { return Ok(outcome) };
    let options: String = options.iter().flat_map(|option| [" ".to_owned(), quoted(Path::new(option))]).collect();
    screen.print(&format!(
        "\nThe fixture, for you to read, check and serve again:\n  {path}\n\
         \x20 contrail verify {path}{options}\n\
         \x20 contrail replay {path}{options}\n\
         \x20 contrail inspect {path}{options}\n",
        path = folder.join(FIXTURE).display()
    ))?;
    Ok(outcome)
}
