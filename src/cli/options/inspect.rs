//! The live page: where it listens, and by which names browsers call it.

use std::{env, sync::Arc};

use contrail_contract::Contract;
use contrail_inspect::{Facts, Guard, Host, Inspector, Settings, Token};
use contrail_proxy::side::{Serving, SideListener};
use contrail_redact::Redactor;
use contrail_report::Collector;

use super::values::size_above_zero;
use crate::cli::{Failure, explain, listeners::bind, options::contract::title, printer::warn};

/// The variable that gives the token.
pub(in crate::cli) const TOKEN: &str = "CONTRAIL_INSPECT_TOKEN";

/// The live page
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Live page")]
pub struct PageArgs {
    /// Another name by which browsers call the live page (a forwarded port, a container); repeatable
    #[arg(long, value_name = "NAME[:PORT]")]
    pub inspect_host: Vec<String>,
    /// Maximum size of the temporary file that keeps exchanges for the live page; the oldest leave
    #[arg(long, value_name = "BYTES", default_value = "256MiB", value_parser = size_above_zero)]
    pub inspect_buffer: usize,
}

/// A live page that is bound and answers nobody yet.
#[derive(Debug)]
pub(in crate::cli) struct Bound {
    pub(in crate::cli) listener: SideListener,
    token: Token,
}

/// A live page that answers, until it is dropped.
#[derive(Debug)]
pub(in crate::cli) struct Page {
    pub(in crate::cli) host: Arc<Host>,
    pub(in crate::cli) inspector: Arc<Inspector>,
    /// Its address, with the token unless somebody chose that.
    pub(in crate::cli) address: String,
    _serving: Serving,
}

impl PageArgs {
    /// Binds the listener of `option` and makes the token.
    ///
    /// # Errors
    ///
    /// The address is malformed, taken, or open to other machines; the token is unusable, or would stay in a CI log.
    pub(in crate::cli) fn bind(&self, option: &str, address: &str) -> Result<Bound, Failure> {
        let token = match env::var(TOKEN) {
            Ok(text) if !text.is_empty() => Token::given(&text).map_err(|wrong| format!("{TOKEN}: {wrong}"))?,
            _ if env::var_os("CI").is_some_and(|ci| !ci.is_empty()) => {
                return Err(format!(
                    "{option}: in CI the printed address would stay in the log with its token; give a token with the variable {TOKEN}"
                )
                .into());
            }
            _ => Token::new(),
        };
        let listener = SideListener::bind(bind(option, address))?;
        if !listener.address.ip().to_canonical().is_loopback() {
            if self.inspect_host.is_empty() {
                return Err(format!(
                    "{option} {} is open to other machines; name how browsers call it with --inspect-host, or listen on 127.0.0.1",
                    listener.address
                )
                .into());
            }
            warn("anybody in this network who has the token of the live page reads everything that it shows");
        }
        Ok(Bound { listener, token })
    }

    /// Answers on the bound listener. `advice` refers to the contract that the options name.
    ///
    /// # Errors
    ///
    /// The system gives no thread or no temporary file.
    pub(in crate::cli) fn open(
        &self,
        bound: Bound,
        contract: Arc<Contract>,
        is_built_in: bool,
        redactor: Arc<Redactor>,
        facts: Facts,
    ) -> Result<Page, Failure> {
        let Bound { listener, token } = bound;
        let address = listener.address;
        let collector = Collector::new(title(&contract), Vec::new(), false);
        let settings = Settings {
            advice: explain::advice((!is_built_in).then(|| Arc::clone(&contract))),
            contract,
            redactor,
            collector,
            buffer: self.inspect_buffer as u64,
            facts,
        };
        let inspector = Inspector::new(settings)?;
        let shown =
            if token.is_given { format!("http://{address}/") } else { format!("http://{address}/#k={}", token.text()) };
        let host = Host::new(Arc::clone(&inspector), Guard::new(token, address, &self.inspect_host));
        let serving = contrail_inspect::serve(listener, Arc::clone(&host))?;
        Ok(Page { host, inspector, address: shown, _serving: serving })
    }
}

impl Page {
    /// The line that says where it is.
    pub(in crate::cli) fn line(&self) -> String {
        format!("inspector on {}", self.address)
    }
}

/// How somebody who is connected by SSH reaches the page, if somebody is.
pub(in crate::cli) fn over_ssh(address: std::net::SocketAddr) -> Option<String> {
    let is_over = env::var_os("SSH_CONNECTION").is_some_and(|connection| !connection.is_empty());
    let port = address.port();
    is_over.then(|| format!("from your own machine: ssh -L {port}:127.0.0.1:{port} HOST, then open that address"))
}
