//! Where a proxy listens.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use contrail_proxy::{HostPort, entry::forward::Tunnel, upstream::masked};

use crate::cli::{Failure, messages::lacking};

/// Where the proxy listens
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Listeners")]
pub struct ListenerArgs {
    /// Address of the plain listener; port 0 picks a free port [default: 127.0.0.1:8080, or a free port with CMD; none
    /// if another listener is set]
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<String>,
    /// Address of the TLS listener (HTTP/1.1 and HTTP/2)
    #[arg(long, value_name = "ADDR")]
    pub tls_listen: Option<String>,
    /// Certificate chain of the TLS listener, PEM [default: issued by contrail's own authority]
    #[arg(long, value_name = "FILE")]
    pub cert: Option<PathBuf>,
    /// Private key of --cert, PEM
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// Folder of the certificate authorities [default: `$XDG_DATA_HOME/contrail/ca` or `~/.local/share/contrail/ca`]
    #[arg(long, value_name = "DIR")]
    pub ca_dir: Option<PathBuf>,
    /// Address of the forward proxy (absolute-form requests and CONNECT)
    #[arg(long, value_name = "ADDR")]
    pub forward_listen: Option<String>,
    /// Additional host to intercept on the forward proxy, by default port 443; repeatable
    #[arg(long, value_name = "HOST[:PORT]")]
    pub intercept: Vec<String>,
    /// Address of a listener for metrics (`/metrics`, for Prometheus) and probes (`/healthz`, `/readyz`); without
    /// authentication
    #[arg(long, value_name = "ADDR")]
    pub metrics: Option<String>,
    /// How the forward proxy treats requests to other hosts
    #[arg(long, value_enum, default_value_t)]
    pub tunnel: Tunnel,
    /// Credentials for clients of the forward proxy; required unless it listens on loopback
    #[arg(long, value_name = "USER:PASSWORD", hide_env_values = true)]
    pub proxy_auth: Option<String>,
    /// Write the variables that CMD gets to FILE once contrail listens, for `docker --env-file`, shells and dotenv; it
    /// goes when contrail ends. Without CMD, this opens the same listeners
    #[arg(long, value_name = "FILE")]
    pub env_file: Option<PathBuf>,
    /// Whether programs of Node up to 22.20 send the requests of fetch, http and https through contrail, by a file that
    /// `NODE_OPTIONS` loads first
    #[arg(
        long,
        value_name = "WHEN",
        value_enum,
        num_args = 0..=1,
        require_equals = true,
        default_value_t,
        default_missing_value = "always"
    )]
    pub node: Preload,
}

/// When Node gets the proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Preload {
    /// Where CMD is node, npm, npx, pnpm, yarn, bun or vitest
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl Preload {
    /// Whether this command gets it.
    pub(in crate::cli) fn is_for(self, command: &[OsString]) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => command.first().map(Path::new).and_then(Path::file_name).is_some_and(|name| {
                ["node", "npm", "npx", "pnpm", "yarn", "bun", "vitest"].iter().any(|known| name == *known)
            }),
        }
    }
}

impl ListenerArgs {
    /// What is wrong with an option that was `typed` and lacks another one, if one was.
    pub(in crate::cli) fn misplaced(&self, around_command: bool, typed: &dyn Fn(&str) -> bool) -> Option<String> {
        let forward = self.forward_listen.is_some() || around_command || self.env_file.is_some();
        if !forward && typed("proxy-auth") {
            let wrong = "--proxy-auth is for the forward listener, and there is none; add --forward-listen ADDR, or leave it out";
            return Some(wrong.to_owned());
        }
        if typed("node") && !around_command && self.env_file.is_none() {
            return Some(lacking("node", "-- CMD or --env-file FILE"));
        }
        let (cert, key, tls) = (self.cert.is_some(), self.key.is_some(), self.tls_listen.is_some());
        [("cert", !tls, "--tls-listen ADDR"), ("cert", !key, "--key FILE"), ("key", !cert, "--cert FILE")]
            .into_iter()
            .find(|(option, lacks, _)| *lacks && typed(option))
            .map(|(option, _, other)| lacking(option, other))
    }

    /// Checks what can be checked before a port is bound.
    ///
    /// # Errors
    ///
    /// An unusable `--intercept`, `--proxy-auth` or address.
    pub fn check(&self) -> Result<(), Failure> {
        self.intercepted()?;
        if let Some(credentials) = &self.proxy_auth
            && !credentials.contains(':')
        {
            return Err("--proxy-auth: expected USER:PASSWORD".into());
        }
        Ok(())
    }

    /// The origins of intercepted hosts, as clients call them.
    ///
    /// # Errors
    ///
    /// An unusable `--intercept`.
    pub fn intercepted_origins(&self) -> Result<Vec<String>, Failure> {
        Ok(self.intercepted()?.iter().map(|target| format!("https://{}", target.authority("https"))).collect())
    }

    pub(in crate::cli) fn intercepted(&self) -> Result<Vec<HostPort>, Failure> {
        let parse = |text: &String| {
            let shown = masked(text);
            if text.contains('*') {
                return Err(format!(
                    "--intercept {shown}: patterns are not supported; name each host, as in --intercept api.example"
                )
                .into());
            }
            let wrong = |wrong| format!("--intercept {shown}: {wrong}; write HOST or HOST:PORT");
            Ok(HostPort::parse(text, Some(443)).map_err(wrong)?)
        };
        self.intercept.iter().map(parse).collect()
    }
}
