//! The live page: where it listens, and by which names browsers call it.

use std::{
    env,
    io::{self, IsTerminal as _},
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use contrail_contract::Contract;
use contrail_inspect::{End, Facts, Guard, Host, Inspector, Settings, Token, Variable};
use contrail_proxy::{
    HostPort, Proxy,
    side::{Serving, SideListener},
};
use contrail_redact::Redactor;
use contrail_report::{Collector, Exemptions, Reason};

use super::{contract::title, judge::JudgeArgs, values::size_above_zero};
use crate::cli::{
    Failure, Format, environment::ci, explain, listeners::bind, printer::warn, signals::end_asked, summary::event,
};

/// The variable that gives the token.
pub(in crate::cli) const TOKEN: &str = "CONTRAIL_INSPECT_TOKEN";

/// The live page
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Live page")]
pub struct PageArgs {
    /// Another name by which browsers call the live page (a forwarded port, a container); repeatable
    #[arg(long, value_name = "NAME[:PORT]", value_parser = host)]
    pub inspect_host: Vec<String>,
    /// Maximum size of the temporary file that keeps exchanges for the live page; the oldest leave
    #[arg(long, value_name = "BYTES", default_value = "256MiB", value_parser = size_above_zero)]
    pub inspect_buffer: usize,
    /// Options that the page names, and where each comes from.
    #[arg(skip)]
    pub(in crate::cli) options: Vec<(String, String)>,
}

/// A name by which browsers call the page.
fn host(text: &str) -> Result<String, &'static str> {
    HostPort::parse(text, Some(80)).map(|_| text.to_owned())
}

/// The live page of a proxy
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Live page")]
pub struct InspectArgs {
    /// Address of the live page, such as 127.0.0.1:0
    #[arg(long, value_name = "ADDR")]
    pub inspect: Option<String>,
    /// Whether the live page stays open after the run, until Ctrl-C
    #[arg(long, value_name = "WHEN", value_enum, default_value_t)]
    pub inspect_linger: Linger,
    /// The page.
    #[command(flatten)]
    pub page: PageArgs,
}

/// When the live page outlives its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Linger {
    /// Where a page is open and standard error is a terminal
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
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
    host: Arc<Host>,
    pub(in crate::cli) inspector: Arc<Inspector>,
    /// Where it listens.
    pub(in crate::cli) socket: SocketAddr,
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
            _ if ci().is_some() => {
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
        exemptions: Exemptions,
        facts: Facts,
    ) -> Result<Page, Failure> {
        let Bound { listener, token } = bound;
        let address = listener.address;
        let collector = Collector::new(title(&contract), Vec::new(), false).with_exemptions(exemptions);
        let settings = Settings {
            advice: explain::advice((!is_built_in).then(|| Arc::clone(&contract))),
            contract,
            redactor,
            collector,
            buffer: self.inspect_buffer as u64,
            facts: Facts { options: self.options.clone(), ..facts },
        };
        let inspector = Inspector::new(settings).map_err(|error| {
            let folder = env::temp_dir();
            format!("cannot make a temporary file in `{}` ({error}); TMPDIR names another folder", folder.display())
        })?;
        // Other machines call it by the name that was given.
        let named = self.inspect_host.first().filter(|_| !address.ip().to_canonical().is_loopback());
        let name = match named {
            Some(name) if name.contains(':') => name.clone(),
            Some(name) => format!("{name}:{}", address.port()),
            None => address.to_string(),
        };
        let token_of = if token.is_given { String::new() } else { format!("#k={}", token.text()) };
        let shown = format!("http://{name}/{token_of}");
        let host = Host::new(Arc::clone(&inspector), Guard::new(token, address, &self.inspect_host));
        let serving = contrail_inspect::serve(listener, Arc::clone(&host))?;
        inspector.begin()?;
        Ok(Page { host, inspector, socket: address, address: shown, _serving: serving })
    }
}

impl InspectArgs {
    /// Binds the page, if there is to be one; see [`PageArgs::bind`].
    ///
    /// # Errors
    ///
    /// As there.
    pub(in crate::cli) fn bind(&self) -> Result<Option<Bound>, Failure> {
        self.inspect.as_deref().map(|address| self.page.bind("--inspect", address)).transpose()
    }

    /// Opens the bound page; see [`PageArgs::open`].
    ///
    /// # Errors
    ///
    /// As there.
    pub(in crate::cli) fn open(
        &self,
        bound: Option<Bound>,
        judge: &JudgeArgs,
        contract: &Arc<Contract>,
        redactor: &Arc<Redactor>,
        facts: Facts,
    ) -> Result<Option<Arc<Page>>, Failure> {
        let open = |bound| {
            let (is_built_in, exemptions) = (judge.contract.is_built_in(), judge.policy.exemptions()?);
            self.page
                .open(bound, Arc::clone(contract), is_built_in, Arc::clone(redactor), exemptions, facts)
                .map(Arc::new)
        };
        bound.map(open).transpose()
    }

    /// Hands the page what only the end of a run shows, and keeps it open where somebody may still read.
    pub(in crate::cli) fn end(&self, page: Option<Arc<Page>>, collector: Collector, status: u8, next: Option<String>) {
        let Some(page) = page else { return };
        // A page that shows the end may be why somebody asks for it: from then on no signal is missed.
        let asked = end_asked();
        let exit = collector.run().exit.clone().unwrap_or_default();
        let sentences = exit.reasons.iter().map(Reason::in_words).collect();
        page.inspector.end(collector, End { status, sentences, next });
        let stays = match self.inspect_linger {
            Linger::Auto => page.host.pages() > 0 && io::stderr().is_terminal(),
            Linger::Always => true,
            Linger::Never => false,
        };
        if stays {
            let line = format!("the inspector stays open until you press Ctrl-C (status {status} is decided)");
            event(Format::Text, "inspector", page.address.as_str(), &line);
            page.linger(&asked, self.inspect_linger == Linger::Always);
        } else if page.host.pages() > 0 {
            // Open pages get the end of the run with their next notice.
            std::thread::sleep(Page::NOTICE);
        }
    }
}

impl Page {
    /// The line with its address.
    pub(in crate::cli) fn line(&self) -> String {
        format!("inspector on {}", self.address)
    }

    /// Prints its address, and notes where the proxy listens and by which variables (`NAME=VALUE`) its command finds it.
    pub(in crate::cli) fn introduce(
        &self,
        format: Format,
        proxy: &Arc<Proxy>,
        listeners: &[String],
        variables: Vec<String>,
    ) {
        let over_ssh = over_ssh(self.socket);
        for line in [self.line()].iter().chain(&over_ssh) {
            event(format, "inspector", self.address.as_str(), line);
        }
        let variable = |text: String| {
            text.split_once('=').map(|(name, value)| Variable { name: name.to_owned(), value: value.to_owned() })
        };
        let variables = variables.into_iter().filter_map(variable).collect();
        let proxy = Arc::clone(proxy);
        self.inspector.listens(listeners.to_vec(), variables, move || proxy.in_use().exchanges);
    }

    /// Within this time a page has every notice.
    const NOTICE: Duration = Duration::from_millis(300);

    /// Waits for a signal; unless `always`, also until no page has been open for a while.
    fn linger(&self, asked: &AtomicBool, always: bool) {
        const LOOK: Duration = Duration::from_millis(200);
        const PATIENCE: Duration = Duration::from_secs(10);
        let mut seen = Instant::now();
        while !asked.load(Ordering::Relaxed) && (always || seen.elapsed() < PATIENCE) {
            if self.host.pages() > 0 {
                seen = Instant::now();
            }
            std::thread::sleep(LOOK);
        }
    }
}

/// How somebody who is connected by SSH reaches the page, if somebody is.
pub(in crate::cli) fn over_ssh(address: SocketAddr) -> Option<String> {
    let is_over = env::var_os("SSH_CONNECTION").is_some_and(|connection| !connection.is_empty());
    let port = address.port();
    is_over.then(|| format!("from your own machine: ssh -L {port}:127.0.0.1:{port} HOST, then open that address"))
}
