//! Who answers a proxy's requests.

use std::{path::PathBuf, sync::Arc};

use contrail_contract::{BUILT_IN, Contract};
use contrail_exchange::{plural::plural, visible::visible};
use contrail_proxy::upstream::{
    Origin, Upstream,
    live::{Access, Http2, Live, Via},
    own::OwnAddresses,
};
use contrail_redact::Redactor;
use contrail_sandbox::{Client, InProcess, Seed, Tenant, mock::Mock};

use super::{Format, limits::ProxyArgs};
use crate::cli::{
    Failure,
    messages::lacking,
    outbound::{FirstHop, OutboundPolicy},
    report_files::Used,
    summary,
};

/// Who answers
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Upstream")]
pub struct UpstreamArgs {
    /// Origin of the tenant, such as `https://tenant.example`, or `sandbox` for the embedded tenant
    #[arg(long, value_name = "URL|sandbox", required = true)]
    pub upstream: Option<Named>,
    /// Certificate authorities to trust for the upstream in addition to the system's, PEM
    #[arg(long, value_name = "FILE")]
    pub upstream_ca: Option<PathBuf>,
    /// Client certificate chain for the upstream, PEM
    #[arg(long, value_name = "FILE")]
    pub upstream_cert: Option<PathBuf>,
    /// Private key of --upstream-cert, PEM
    #[arg(long, value_name = "FILE")]
    pub upstream_key: Option<PathBuf>,
    /// Proxy to reach the upstream, `http://[USER:PASSWORD@]HOST:PORT`, or `none` [default: from `HTTPS_PROXY`,
    /// `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`]
    #[arg(long, value_name = "URL", hide_env_values = true)]
    pub upstream_proxy: Option<String>,
    /// Use of HTTP/2 to the upstream
    #[arg(long, value_enum, default_value_t)]
    pub upstream_http2: Http2,
    /// JSON file with the data of `--upstream sandbox`, as for `contrail sandbox --seed`
    #[arg(long, value_name = "FILE")]
    pub seed: Option<PathBuf>,
}

/// The value of `--upstream`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Named {
    /// The embedded tenant.
    Sandbox,
    /// A tenant somewhere.
    Origin(Origin),
}

impl std::str::FromStr for Named {
    type Err = contrail_proxy::upstream::OriginError;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        if word == "sandbox" { Ok(Self::Sandbox) } else { word.parse().map(Self::Origin) }
    }
}

/// An upstream that is ready to answer.
#[derive(Debug)]
pub struct Ready {
    /// Who answers.
    pub upstream: Arc<dyn Upstream>,
    /// Its origin.
    pub origin: String,
    /// A client of the embedded tenant, if it is that and has one.
    client: Option<Introduced>,
    /// Why the embedded tenant cannot answer everything that a command asks of it, if so.
    limited: Option<String>,
}

/// A client of the embedded tenant.
#[derive(Debug)]
struct Introduced {
    id: String,
    secret: String,
    /// The secret is the seed's.
    seeded: bool,
}

impl UpstreamArgs {
    /// The tenant's origin; `None` for the embedded one.
    #[must_use]
    pub fn origin(&self) -> Option<&Origin> {
        match &self.upstream {
            Some(Named::Origin(origin)) => Some(origin),
            Some(Named::Sandbox) | None => None,
        }
    }

    /// The files that an upstream is set up from.
    pub(in crate::cli) fn uses(&self, used: &mut Used) {
        let Self { upstream_ca, upstream_cert, upstream_key, seed, .. } = self;
        used.files("certificate", [upstream_ca, upstream_cert, upstream_key].into_iter().flatten());
        used.files("seed", seed);
    }

    /// What is wrong with an option that was `typed` and lacks another one, or with a certificate without its key.
    pub(in crate::cli) fn lacking(&self, typed: &dyn Fn(&str) -> bool) -> Option<String> {
        if self.upstream.is_none() {
            let all = ["upstream-ca", "upstream-cert", "upstream-key", "upstream-proxy", "upstream-http2", "seed"];
            let option = all.into_iter().find(|option| typed(option));
            return option.map(|option| lacking(option, "--upstream URL"));
        }
        if self.origin().is_some() && typed("seed") {
            return Some("--seed goes with --upstream sandbox only".to_owned());
        }
        let shown = self.origin().is_some_and(|origin| origin.https);
        let (cert, key) = (self.upstream_cert.is_some(), self.upstream_key.is_some());
        [("upstream-cert", cert && !key, "--upstream-key FILE"), ("upstream-key", key && !cert, "--upstream-cert FILE")]
            .into_iter()
            .find(|(option, lacks, _)| *lacks && (shown || typed(option)))
            .map(|(option, _, other)| lacking(option, other))
    }

    /// The warning about an option that was `typed` and has no effect here, if one was: a script may name it for all
    /// its upstreams. Others than the upstream may need the authorities: hosts that the proxy intercepts, a receiver of
    /// telemetry.
    pub(in crate::cli) fn idle(&self, needs_authorities: bool, typed: &dyn Fn(&str) -> bool) -> Option<String> {
        let tls = ["upstream-ca", "upstream-cert", "upstream-key"].as_slice();
        let (named, proxied) = match &self.upstream {
            Some(Named::Sandbox) => ("sandbox answers from within contrail".to_owned(), ["upstream-proxy"].as_slice()),
            Some(Named::Origin(origin)) if !origin.https => (format!("{origin} is plain http"), [].as_slice()),
            Some(Named::Origin(_)) | None => return None,
        };
        let unused = |option: &&&str| typed(option) && !(needs_authorities && **option == "upstream-ca");
        let option = tls.iter().chain(proxied).find(unused)?;
        Some(format!("--{option} has no effect, since --upstream {named}"))
    }

    /// Where the proxy may open connections to. Intercepted hosts are not shown the upstream's client certificate.
    #[must_use]
    pub fn outbound(&self) -> OutboundPolicy {
        let access = Access { roots: self.upstream_ca.clone(), http2: self.upstream_http2, ..Access::default() };
        let first = match self.origin().map(|origin| self.access(origin)) {
            Some(Ok(Access { via: None, .. })) => FirstHop::Upstream,
            Some(Ok(Access { via: Some(via), .. })) => FirstHop::Proxy(via),
            Some(Err(_)) | None => FirstHop::Nothing,
        };
        OutboundPolicy::Anywhere { access: Box::new(access), first }
    }

    fn access(&self, origin: &Origin) -> Result<Access, Failure> {
        let via = match self.upstream_proxy.as_deref() {
            Some("none") => None,
            Some(named) => Some(named.parse::<Via>().map_err(|error| format!("--upstream-proxy: {error}"))?),
            None => Via::from_environment(origin, |name| std::env::var(name).ok())?,
        };
        Ok(Access {
            roots: self.upstream_ca.clone(),
            identity: self.upstream_cert.clone().zip(self.upstream_key.clone()),
            via,
            http2: self.upstream_http2,
            own: OwnAddresses::default(),
        })
    }

    /// Sets the upstream up; nothing is connected yet. The sandbox answers for the documents of `contract`: the
    /// embedded tenant for the built-in one and for none, a mock for any other.
    ///
    /// # Errors
    ///
    /// `--upstream-ca` or `--seed` cannot be used.
    pub fn ready(&self, proxy: &ProxyArgs, contract: &Arc<Contract>) -> Result<Ready, Failure> {
        match &self.upstream {
            None => Err("there is no upstream; name the tenant with --upstream URL".into()),
            Some(Named::Origin(origin)) => {
                let live = Live::new(origin.clone(), self.access(origin)?, proxy.live_limits())?;
                Ok(Ready { upstream: Arc::new(live), origin: origin.to_string(), client: None, limited: None })
            }
            Some(Named::Sandbox)
                if !contract.is_none() && contract.documents().iter().all(|document| document.name() != BUILT_IN) =>
            {
                let mock = Mock::new(Arc::clone(contract), None, 0)?;
                let origin = mock.origin();
                Ok(Ready { upstream: Arc::new(InProcess(mock)), origin, client: None, limited: None })
            }
            Some(Named::Sandbox) => {
                let seed = match &self.seed {
                    Some(file) => Seed::load(file)?,
                    None => Seed::built_in()?,
                };
                let index = introduced(&seed.clients);
                let limited = limits(index.and_then(|index| seed.clients.get(index)));
                let seeded =
                    index.and_then(|index| seed.clients.get(index)).is_some_and(|client| client.secret.is_some());
                let tenant = Tenant::new(seed, &[])?;
                let client = index.and_then(|index| tenant.clients().get(index)).map(|client| Introduced {
                    id: client.id.clone(),
                    secret: client.secret.clone().unwrap_or_default(),
                    seeded,
                });
                let origin = tenant.origin().to_owned();
                let upstream: Arc<dyn Upstream> = match contract.documents() {
                    [_] => Arc::new(InProcess(tenant)),
                    _ => Arc::new(InProcess(Mock::new(Arc::clone(contract), Some(Arc::new(tenant)), 0)?)),
                };
                Ok(Ready { upstream, origin, client, limited })
            }
        }
    }
}

impl Ready {
    /// The variables that give a command the credentials of the embedded tenant's client; redaction knows the secret
    /// from now on, wherever the command sends it.
    pub(in crate::cli) fn for_command(&self, proxy: &ProxyArgs, redactor: &Redactor) -> Vec<(&'static str, String)> {
        let is_given = !proxy.command.is_empty() || proxy.listeners.env_file.is_some();
        let Some(Introduced { id, secret, .. }) = self.client.as_ref().filter(|_| is_given) else { return Vec::new() };
        redactor.remember_client_secret(secret);
        vec![("CONTRAIL_SANDBOX_CLIENT_ID", id.clone()), ("CONTRAIL_SANDBOX_CLIENT_SECRET", secret.clone())]
    }

    /// Says who may ask the embedded tenant for tokens, where no command is given it. A secret that was made at this
    /// start opens nothing else; one of a seed is never shown. Says in any case what no client may do.
    pub(in crate::cli) fn introduce(&self, proxy: &ProxyArgs, format: Format) {
        if let Some(limited) = &self.limited {
            summary::event(format, "sandboxLimits", limited.as_str(), limited);
        }
        let Some(Introduced { id, secret, seeded }) = &self.client else { return };
        if !proxy.command.is_empty() {
            return;
        }
        let secret = if *seeded { "as in --seed" } else { secret };
        let line = format!("sandbox client {} secret {secret}", visible(id));
        summary::event(format, "sandboxClient", id.as_str(), &line);
    }
}

/// Which client is introduced: the first of those with the most scopes, and before any scopes count, that its tokens
/// live, that it is global, and that its requests are not limited.
fn introduced(clients: &[Client]) -> Option<usize> {
    let usable =
        |client: &Client| (client.token_lifetime > 0, client.global, client.rate_limit.is_none(), client.scopes.len());
    (0..clients.len()).rev().max_by_key(|index| usable(&clients[*index]))
}

/// What the client that is introduced may not do, and what to do about it.
fn limits(client: Option<&Client>) -> Option<String> {
    let client = client?;
    let limit = if client.token_lifetime == 0 {
        "its tokens are expired when they come".to_owned()
    } else if !client.global {
        "it is not global, so its requests get 401".to_owned()
    } else {
        let limit = client.rate_limit?;
        format!("it may send {} in {} s, then gets 429", plural(limit.requests, "request"), limit.seconds)
    };
    Some(format!(
        "sandbox client {}: {limit}; add another client to `clients` in the file of --seed",
        visible(&client.id)
    ))
}
