//! The options of `record`, and what has to hold before it starts.

use std::path::{Path, PathBuf};

use contrail_recording::{self as recording, FixturePath, ReadError, Renew, Scope};

use crate::cli::{
    Failure,
    kinds::{self, FileKind},
    options::{
        FilterArgs, Network, judge::JudgeArgs, keep::KeepArgs, limits::ProxyArgs, matching::MatchArgs,
        sessions::SessionArgs, trail::TrailArgs, upstream::UpstreamArgs,
    },
};

/// Proxy and check traffic, and record it as a fixture
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Path of the fixture: a folder with one file per body, or a single file if the name ends in .har
    #[arg(long, value_name = "PATH", required_unless_present = "sessions")]
    pub(super) out: Option<PathBuf>,
    /// Add to the existing fixture; a new answer to a request that it holds replaces the old one
    #[arg(long, conflicts_with = "overwrite")]
    pub(super) append: bool,
    /// Replace the existing fixture once the recording is complete; keep it if CMD fails or contrail is stopped while
    /// CMD runs
    #[arg(long)]
    pub(super) overwrite: bool,
    /// Replace the recordings of this operation, or of `METHOD /path/*`, and keep the rest of the existing fixture;
    /// replace none if CMD fails or contrail is stopped while CMD runs; repeatable
    #[arg(long, value_name = "OPERATION", value_parser = scope, conflicts_with_all = ["append", "overwrite"])]
    pub(super) replace: Vec<Scope>,
    #[command(flatten)]
    pub(super) kept: KeepArgs,
    #[command(flatten)]
    pub(super) matching: MatchArgs,
    #[command(flatten)]
    pub(super) sessions: SessionArgs,
    #[command(flatten)]
    pub(super) trail: TrailArgs,
    #[command(flatten)]
    pub(super) upstream: UpstreamArgs,
    #[command(flatten)]
    pub(in crate::cli) filter: FilterArgs,
    #[command(flatten)]
    pub(in crate::cli) judge: JudgeArgs,
    #[command(flatten)]
    pub(in crate::cli) proxy: ProxyArgs,
}

impl Args {
    /// Where fixtures are recorded: one, or one per session.
    pub(super) fn out(&self) -> &Path {
        self.out.as_deref().or(self.sessions.sessions.as_deref()).unwrap_or_else(|| Path::new(""))
    }

    /// How it listens, and who answers.
    pub(in crate::cli) fn network(&self) -> Network<'_> {
        Network {
            proxy: &self.proxy,
            upstream: &self.upstream,
            contract: Some(&self.judge.contract),
            trail: Some(&self.trail),
            sessions: Some(&self.sessions),
        }
    }
}

/// Refuses a trail in the fixture's own folder, which holds a fixture and nothing else.
pub(super) fn not_in_fixture(args: &Args) -> Result<(), Failure> {
    let Some(trail) = args.trail.folder() else { return Ok(()) };
    if recording::resolved(&trail).starts_with(recording::resolved(args.out())) {
        let (trail, out) = (trail.display(), args.out().display());
        return Err(
            format!("--trail: `{trail}` is in the folder of the fixture `{out}`; name a folder elsewhere").into()
        );
    }
    Ok(())
}

fn scope(text: &str) -> Result<Scope, String> {
    text.parse().map_err(|()| "write an operation of the contract, or `METHOD /path/*`".to_owned())
}

/// Whether it replaces entries that it does not record again.
pub(super) fn replaces(args: &Args) -> bool {
    args.overwrite || !args.replace.is_empty()
}

/// What the recording replaces.
pub(super) fn renewal(args: &Args) -> Renew<'_> {
    match args.replace.as_slice() {
        _ if args.overwrite => Renew::Everything,
        [] => Renew::Requests,
        list => Renew::Of(list),
    }
}

/// Whether there is a fixture already; if so, the options have to say what becomes of it.
pub(super) fn exists(args: &Args) -> Result<bool, Failure> {
    let place = FixturePath::prepare(args.out())?;
    let there = place.is_taken();
    if !there || args.append || replaces(args) {
        kinds::replaces("--out", place.har(), FileKind::Recording)?;
        // What is recorded for it could not be added.
        let conflict = if there && !args.overwrite { ReadError::of_conflict(place.har()) } else { None };
        return conflict.map_or(Ok(there), |conflict| Err(conflict.into()));
    }
    Err(format!(
        "{} exists already; --append adds to it, --overwrite replaces it, --replace OPERATION records one operation again",
        args.out().display()
    )
    .into())
}
