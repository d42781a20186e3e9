//! Which exchanges are judged and recorded, and which may pass.

use contrail_contract::CheckOptions;
use contrail_pipeline::Enforce;

use super::judge::Setup;

/// Which exchanges count, and which may pass
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Selection")]
pub struct FilterArgs {
    /// Judge and record only this operation; other requests are still forwarded; repeatable
    #[arg(long, value_name = "OPERATION")]
    pub only: Vec<String>,
    /// Neither judge nor record requests with this path, as sent; a trailing `*` matches any suffix; repeatable
    #[arg(long, value_name = "PATH", value_parser = super::values::excluded)]
    pub exclude: Vec<String>,
    /// Hold messages until they are judged, and replace those that violate the contract with errors
    #[arg(long, value_enum)]
    pub enforce: Option<Enforce>,
}

impl FilterArgs {
    pub(in crate::cli) fn setup(&self, origin: &str) -> Setup {
        Setup {
            options: CheckOptions { tenant_origins: vec![origin.to_owned()], ..CheckOptions::default() },
            only: self.only.clone(),
            exclude: self.exclude.clone(),
            enforce: self.enforce.unwrap_or_default(),
            ..Setup::default()
        }
    }
}
