//! What a fixture keeps although another run would give something else.

use contrail_recording::Keep;

/// What a fixture keeps of a run.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct KeepArgs {
    /// Keep transient responses: all, or those with status `429`, `408`, `5xx` or a single 5xx status; repeatable
    #[arg(long, value_name = "STATUS", num_args = 0..=1, default_missing_value = "all")]
    pub(in crate::cli) keep: Vec<Keep>,
    /// Keep the upstream's origin in the fixture instead of `https://tenant.example`
    #[arg(long)]
    pub(in crate::cli) keep_host: bool,
    /// Keep the times that answers took, for `replay --latency recorded`; each recording then changes the fixture
    #[arg(long)]
    pub(in crate::cli) keep_timings: bool,
}
