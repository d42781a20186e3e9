//! Who answers a proxy's requests.

use std::{path::PathBuf, sync::Arc};

use contrail_contract::{BUILT_IN, Contract, upstream_of};
use contrail_exchange::{TENANT_NAME, is_upstream_name, plural::plural, visible::visible};
use contrail_proxy::upstream::{
    Origin, OriginError, Upstream,
    live::{Access, Http2, Live, Via},
    own::OwnAddresses,
};
use contrail_redact::Redactor;
use contrail_sandbox::{Client, InProcess, Seed, Tenant, mock::Mock};

use super::{Format, limits::ProxyArgs};
use crate::cli::{
    Failure,
    messages::lacking,
    outbound::{FirstHop, OutboundPolicy, UpstreamSite},
    report_files::Used,
    summary,
};

/// Who answers
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Upstream")]
pub struct UpstreamArgs {
    /// Origin of the tenant, such as `https://tenant.example`, or `sandbox` for the embedded tenant; `NAME=URL` names
    /// another API that clients call; repeatable
    #[arg(long, value_name = "URL|sandbox", required = true)]
    pub upstream: Vec<Named>,
    /// Certificate authorities to trust for the upstreams in addition to the system's, PEM; `NAME=FILE` for one of several
    /// upstreams; repeatable
    #[arg(long, value_name = "FILE")]
    pub upstream_ca: Vec<PathBuf>,
    /// Client certificate chain for the upstream, the first of several, PEM
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

/// A value of `--upstream`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// Its name; the tenant has none.
    pub name: Option<Arc<str>>,
    /// Who answers.
    pub answers: Answers,
}

/// Who an upstream is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answers {
    /// The embedded tenant.
    Sandbox,
    /// A server somewhere.
    Origin(Origin),
}

impl std::str::FromStr for Named {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_word = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        let (name, value) = match text.split_once('=').filter(|(name, _)| is_word(name)) {
            Some((name, value)) => (Some(name), value),
            None => (None, text),
        };
        if let Some(name) = name.filter(|name| !is_upstream_name(name)) {
            return Err(format!(
                "`{name}` cannot name an upstream: a name is a small letter, then at most 30 small letters, digits and \
                 hyphens, as in billing=https://api.example"
            ));
        }
        let name = name.filter(|name| *name != TENANT_NAME);
        if value == "sandbox" {
            return match name {
                None => Ok(Self { name: None, answers: Answers::Sandbox }),
                Some(_) => Err("the sandbox is the tenant, which has no name; write --upstream sandbox".to_owned()),
            };
        }
        let origin = value.parse().map_err(|error: OriginError| error.to_string())?;
        Ok(Self { name: name.map(Arc::from), answers: Answers::Origin(origin) })
    }
}

/// Upstreams that are ready to answer.
#[derive(Debug)]
pub struct Ready {
    /// Who answers.
    upstreams: Vec<Arc<dyn Upstream>>,
    /// How clients call each of them.
    pub(in crate::cli) sites: Vec<UpstreamSite>,
    /// The origin of the one, or names and origins of several, as `--upstream` has them.
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
    /// The origins of the upstreams with their names; the embedded tenant has none.
    pub fn origins(&self) -> impl Iterator<Item = (Option<&Arc<str>>, &Origin)> {
        self.upstream.iter().filter_map(|Named { name, answers }| match answers {
            Answers::Origin(origin) => Some((name.as_ref(), origin)),
            Answers::Sandbox => None,
        })
    }

    /// The options for these upstreams as they stand in a command line, each behind a space.
    pub(in crate::cli) fn command_line(&self, of: impl Fn(Option<&Arc<str>>, &Origin) -> bool) -> String {
        let named = self.origins().filter(|(name, origin)| of(*name, origin));
        let named = named.map(|(name, origin)| UpstreamSite::new(name.cloned(), origin.clone()));
        named.flat_map(|upstream| [" --upstream ".to_owned(), upstream.to_string()]).collect()
    }

    /// The tenant's origin, if it has one.
    #[must_use]
    pub fn tenant(&self) -> Option<&Origin> {
        self.origins().find(|(name, _)| name.is_none()).map(|(_, origin)| origin)
    }

    /// Whether an upstream has a name.
    pub(in crate::cli) fn has_names(&self) -> bool {
        self.upstream.iter().any(|named| named.name.is_some())
    }

    /// The authorities to trust for the upstream of this name; without a name, for the tenant and every other host.
    pub(in crate::cli) fn authorities(&self, name: Option<&str>) -> Option<PathBuf> {
        let mut files = self.upstream_ca.iter().map(|file| upstream_of(file));
        let own = files.clone().find(|(of, _)| name.is_some() && *of == name);
        own.or_else(|| files.find(|(of, _)| of.is_none())).map(|(_, file)| file.to_owned())
    }

    /// The files that an upstream is set up from.
    pub(in crate::cli) fn uses(&self, used: &mut Used) {
        let Self { upstream_ca, upstream_cert, upstream_key, seed, .. } = self;
        used.files("certificate", upstream_ca.iter().map(|file| upstream_of(file).1));
        used.files("certificate", [upstream_cert, upstream_key].into_iter().flatten());
        used.files("seed", seed);
    }

    /// What is wrong with the list of upstreams, if something is.
    fn doubled(&self) -> Option<String> {
        for (at, Named { name, answers }) in self.upstream.iter().enumerate() {
            let mut before = self.upstream[..at].iter();
            if before.clone().any(|other| other.name == *name) {
                return Some(match name {
                    Some(name) => format!("--upstream: two upstreams are called {name}; give each a name of its own"),
                    None => "--upstream names two tenants; give all but one a name, as in billing=https://api.example"
                        .to_owned(),
                });
            }
            if let Answers::Origin(origin) = answers
                && before.any(|other| other.answers == *answers)
            {
                return Some(format!("--upstream: two upstreams have the origin {origin}; name each origin once"));
            }
        }
        self.nobodys("upstream-ca", &self.upstream_ca)
    }

    /// What is wrong with an option whose files (`NAME=FILE`) are for upstreams, if one is for none.
    pub(in crate::cli) fn nobodys(&self, option: &str, files: &[PathBuf]) -> Option<String> {
        let is_nobodys = |file: &&PathBuf| {
            let (of, _) = upstream_of(file);
            of.is_some() && !self.upstream.iter().any(|named| named.name.as_deref() == of)
        };
        let file = files.iter().find(is_nobodys)?;
        Some(format!("--{option} {}: there is no upstream of this name", file.display()))
    }

    /// What is wrong with an option that was `typed` and lacks another one, or with a certificate without its key.
    pub(in crate::cli) fn lacking(&self, typed: &dyn Fn(&str) -> bool) -> Option<String> {
        if self.upstream.is_empty() {
            let all = ["upstream-ca", "upstream-cert", "upstream-key", "upstream-proxy", "upstream-http2", "seed"];
            let option = all.into_iter().find(|option| typed(option));
            return option.map(|option| lacking(option, "--upstream URL"));
        }
        if let Some(wrong) = self.doubled() {
            return Some(wrong);
        }
        if !self.upstream.iter().any(|named| named.answers == Answers::Sandbox) && typed("seed") {
            return Some("--seed goes with --upstream sandbox only".to_owned());
        }
        let shown = self.origins().next().is_some_and(|(_, origin)| origin.https);
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
        let [Named { answers, .. }] = &*self.upstream else { return None };
        let (named, proxied) = match answers {
            Answers::Sandbox => ("sandbox answers from within contrail".to_owned(), ["upstream-proxy"].as_slice()),
            Answers::Origin(origin) if !origin.https => (format!("{origin} is plain http"), [].as_slice()),
            Answers::Origin(_) => return None,
        };
        let unused = |option: &&&str| typed(option) && !(needs_authorities && **option == "upstream-ca");
        let option = tls.iter().chain(proxied).find(unused)?;
        Some(format!("--{option} has no effect, since --upstream {named}"))
    }

    /// Where the proxy may open connections to. Intercepted hosts are not shown the upstream's client certificate.
    #[must_use]
    pub fn outbound(&self) -> OutboundPolicy {
        let access = Access { roots: self.authorities(None), http2: self.upstream_http2, ..Access::default() };
        let first = self.upstream.iter().map(|named| match &named.answers {
            Answers::Sandbox => FirstHop::Nothing,
            Answers::Origin(origin) => match self.access(named, origin) {
                Ok(Access { via: None, .. }) => FirstHop::Upstream,
                Ok(Access { via: Some(via), .. }) => FirstHop::Proxy(via),
                Err(_) => FirstHop::Nothing,
            },
        });
        OutboundPolicy::Anywhere { access: Box::new(access), first: first.collect() }
    }

    fn access(&self, named: &Named, origin: &Origin) -> Result<Access, Failure> {
        let via = match self.upstream_proxy.as_deref() {
            Some("none") => None,
            Some(named) => Some(named.parse::<Via>().map_err(|error| format!("--upstream-proxy: {error}"))?),
            None => Via::from_environment(origin, |name| std::env::var(name).ok())?,
        };
        let identity = self.upstream_cert.clone().zip(self.upstream_key.clone());
        Ok(Access {
            roots: self.authorities(named.name.as_deref()),
            identity: identity.filter(|_| self.upstream.first() == Some(named)),
            via,
            http2: self.upstream_http2,
            own: OwnAddresses::default(),
        })
    }

    /// Sets the upstreams up; nothing is connected yet. The sandbox answers for the documents of `contract`: the
    /// embedded tenant for the built-in one and for none, a mock for any other.
    ///
    /// # Errors
    ///
    /// `--upstream-ca` or `--seed` cannot be used.
    pub fn ready(&self, proxy: &ProxyArgs, contract: &Arc<Contract>) -> Result<Ready, Failure> {
        let mut ready =
            Ready { upstreams: Vec::new(), sites: Vec::new(), origin: String::new(), client: None, limited: None };
        for named in &self.upstream {
            let (origin, upstream): (Origin, Arc<dyn Upstream>) = match &named.answers {
                Answers::Origin(origin) => {
                    let live = Live::new(origin.clone(), self.access(named, origin)?, proxy.live_limits())?;
                    (origin.clone(), Arc::new(live))
                }
                Answers::Sandbox => {
                    let (origin, upstream) = self.sandbox(contract, &mut ready)?;
                    (origin.parse()?, upstream)
                }
            };
            ready.upstreams.push(upstream);
            ready.sites.push(UpstreamSite::new(named.name.clone(), origin));
        }
        let stated: Vec<String> = ready.sites.iter().map(ToString::to_string).collect();
        if stated.is_empty() {
            return Err("there is no upstream; name the tenant with --upstream URL".into());
        }
        ready.origin = stated.join(", ");
        Ok(ready)
    }

    /// What answers for the embedded tenant, with its origin.
    fn sandbox(&self, contract: &Arc<Contract>, ready: &mut Ready) -> Result<(String, Arc<dyn Upstream>), Failure> {
        if !contract.is_none() && contract.documents().iter().all(|document| document.name() != BUILT_IN) {
            let mock = Mock::new(Arc::clone(contract), None, 0)?;
            return Ok((mock.origin(), Arc::new(InProcess(mock))));
        }
        let seed = match &self.seed {
            Some(file) => Seed::load(file)?,
            None => Seed::built_in()?,
        };
        let index = introduced(&seed.clients);
        ready.limited = limits(index.and_then(|index| seed.clients.get(index)));
        let seeded = index.and_then(|index| seed.clients.get(index)).is_some_and(|client| client.secret.is_some());
        let tenant = Tenant::new(seed, &[])?;
        ready.client = index.and_then(|index| tenant.clients().get(index)).map(|client| Introduced {
            id: client.id.clone(),
            secret: client.secret.clone().unwrap_or_default(),
            seeded,
        });
        let origin = tenant.origin().to_owned();
        let upstream: Arc<dyn Upstream> = match contract.documents() {
            [_] => Arc::new(InProcess(tenant)),
            _ => Arc::new(InProcess(Mock::new(Arc::clone(contract), Some(Arc::new(tenant)), 0)?)),
        };
        Ok((origin, upstream))
    }
}

impl Ready {
    /// The upstreams by their origins.
    pub(in crate::cli) fn by_origin(&self) -> Vec<(Origin, Arc<dyn Upstream>)> {
        let origins = self.sites.iter().map(|site| site.origin.clone());
        origins.zip(self.upstreams.iter().cloned()).collect()
    }

    /// The origins.
    pub(in crate::cli) fn origins(&self) -> Vec<String> {
        self.sites.iter().map(|site| site.origin.to_string()).collect()
    }

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
