//! `contrail sandbox`: the embedded tenant, on its own.

use std::{
    fmt::Write as _,
    io::Write as _,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

use contrail_contract::{BUILT_IN, Contract, ContractDocument};
use contrail_exchange::{plural::plural, visible::visible};
use contrail_proxy::metrics::{Metrics, Phase, Subject};
use contrail_sandbox::{
    self as sandbox, Answers, BUILT_IN_SEED, CHOICES, Client, Misbehaviour, Seed, Tenant, mock::Mock,
};
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};

use super::{
    ContractArgs, Failure, Format, Outcome,
    listeners::bind,
    messages::lacking,
    metrics::{self, CountingSandbox, Monitoring},
    options::values::whole,
    printer::Printer,
    summary::event,
};

/// Serve the embedded tenant, or a mock of any contract
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Address to listen on; port 0 picks a free port
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080")]
    listen: String,
    /// Address of a listener for metrics (`/metrics`, for Prometheus) and probes (`/healthz`, `/readyz`); without
    /// authentication
    #[arg(long, value_name = "ADDR")]
    metrics: Option<String>,
    /// Violate a documented rule on purpose, in this share of the applicable exchanges (0 to 1) [default rate: 1];
    /// repeatable
    #[arg(long, value_name = "RULE[=RATE]")]
    misbehave: Vec<Misbehaviour>,
    /// OpenAPI document to mock: answers come from its examples, or are made from its schemas, and what it refuses is
    /// refused; repeatable, `built-in` adds the embedded tenant
    #[arg(long, value_name = "FILE")]
    contract: Vec<PathBuf>,
    /// OpenAPI Overlay 1.0 or 1.1 to apply to the documents of --contract; repeatable, in order
    #[arg(long, value_name = "FILE")]
    overlay: Vec<PathBuf>,
    /// Number that selects among the values which the schemas of --contract allow; equal numbers give equal answers
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<usize>)]
    seed_number: usize,
    /// JSON file with the tenant's data, clock and ids [default: built-in data]
    #[arg(long, value_name = "FILE")]
    seed: Option<PathBuf>,
    /// Print the built-in data as a template for --seed, and exit
    #[arg(long)]
    print_seed: bool,
    /// List the choices that the tenant's document leaves open and the sandbox makes, and exit
    #[arg(long)]
    explain: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    if args.print_seed {
        return print(BUILT_IN_SEED);
    }
    if args.explain {
        return print(&match args.format {
            Format::Text => choices_text(),
            Format::Json => choices_json(),
        });
    }
    let monitoring = Monitoring::open(args.metrics.as_deref(), None)?;
    let metrics = monitoring.metrics();
    if !args.has_mock() {
        let tenant = Arc::new(args.tenant()?);
        let welcome = |address| match args.format {
            Format::Text => welcome_text(address, &tenant),
            Format::Json => welcome_json(address, &tenant),
        };
        return run_with(args, Arc::clone(&tenant), Contract::built_in(), metrics, welcome);
    }
    let options = ContractArgs { contract: args.contract.clone(), overlay: args.overlay.clone() };
    let contract = options.load()?;
    let tenant = if args.has_built_in() { Some(Arc::new(args.tenant()?)) } else { None };
    let mock = Mock::new(Arc::clone(&contract), tenant, args.seed_number)?;
    let welcome = |address| mock_welcome(address, &contract, args.format);
    run_with(args, Arc::new(mock), Arc::clone(&contract), metrics, welcome)
}

impl Args {
    /// What is wrong with an option that was `typed`: one of a mock where only the embedded tenant answers, or one of
    /// the tenant where only other documents are mocked.
    pub(super) fn misplaced(&self, typed: &dyn Fn(&str) -> bool) -> Option<String> {
        if !self.has_mock() {
            let option = ["seed-number", "overlay"].into_iter().find(|option| typed(option))?;
            return Some(lacking(option, "a document in --contract"));
        }
        if self.has_built_in() {
            return None;
        }
        let option = ["seed", "misbehave"].into_iter().find(|option| typed(option))?;
        Some(format!(
            "--{option} goes with the built-in contract only; add --contract {BUILT_IN}, or remove --{option}"
        ))
    }

    /// Whether a document is mocked.
    fn has_mock(&self) -> bool {
        self.contract.iter().any(|file| file != Path::new(BUILT_IN))
    }

    fn has_built_in(&self) -> bool {
        self.contract.iter().any(|file| file == Path::new(BUILT_IN))
    }

    fn tenant(&self) -> Result<Tenant, Failure> {
        let seed = match &self.seed {
            Some(file) => Seed::load(file)?,
            None => Seed::built_in()?,
        };
        Ok(Tenant::new(seed, &self.misbehave)?)
    }
}

/// Serves the tenant, and counts its answers by the operations of `contract` where somebody asks for metrics.
fn run_with<T: Answers + 'static>(
    args: &Args,
    tenant: Arc<T>,
    contract: Arc<Contract>,
    metrics: Option<Arc<Metrics>>,
    welcome: impl FnOnce(SocketAddr) -> String,
) -> Result<Outcome, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let Some(metrics) = metrics else { return runtime.block_on(serve(args, tenant, None, welcome)) };
    let counted = CountingSandbox::new(tenant, contract);
    let metrics = (metrics, counted.subject());
    runtime.block_on(serve(args, Arc::new(counted), Some(metrics), welcome))
}

async fn serve<T: Answers + 'static>(
    args: &Args,
    tenant: Arc<T>,
    metrics: Option<(Arc<Metrics>, Box<dyn Subject>)>,
    welcome: impl FnOnce(SocketAddr) -> String,
) -> Result<Outcome, Failure> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let (listener, address) = bind("--listen", &args.listen).await?;
    let url = format!("http://{address}");
    event(args.format, "listening", url.as_str(), &format!("listening on {url}"));
    let metrics = metrics.map(|(metrics, subject)| {
        metrics.serve(subject);
        if let Some((url, line)) = metrics::url(&metrics).zip(metrics::line(&metrics)) {
            event(args.format, "listening", url, &line);
        }
        metrics
    });
    print(&welcome(address))?;
    let stop = async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        if let Some(metrics) = metrics {
            metrics.enter(Phase::Draining);
        }
    };
    sandbox::serve(listener, tenant, stop).await?;
    Ok(Outcome::CLEAN)
}

fn print(text: &str) -> Result<Outcome, Failure> {
    let mut out = Printer::stdout();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(Outcome::CLEAN)
}

fn mock_welcome(address: SocketAddr, contract: &Contract, format: Format) -> String {
    let operations = contract.operations().count();
    let (title, version) = (contract.title(), contract.version());
    if format == Format::Json {
        let contract = json!({"title": title, "version": version});
        return format!(
            "{}\n",
            json!({"url": format!("http://{address}"), "contract": contract, "operations": operations})
        );
    }
    let mut text = format!(
        "\nThe sandbox answers {} of {} {}",
        plural(operations, "operation"),
        visible(&title),
        visible(&version)
    );
    let bases: Vec<&str> =
        contract.documents().iter().flat_map(ContractDocument::base_paths).map(String::as_str).collect();
    let _ = writeln!(
        text,
        " at http://{address}{}",
        bases.first().map_or_else(String::new, |base| visible(base).into_owned())
    );
    let tokens = contract.documents().iter().flat_map(ContractDocument::token_paths);
    for path in tokens {
        let _ = writeln!(text, "Tokens: POST http://{address}{}", visible(path));
    }
    text.push_str("Answers hold the contract's examples, or values that its schemas allow. No state is kept.\n");
    text
}

fn welcome_json(address: SocketAddr, tenant: &Tenant) -> String {
    let clients: Vec<Value> = tenant
        .clients()
        .iter()
        .map(|client| {
            let mut shown = json!({"id": client.id, "scopes": client.scopes});
            if client.generated {
                shown["secret"] = json!(client.secret);
            }
            if let Some(limit) = client.rate_limit {
                shown["rate_limit"] = json!({"requests": limit.requests, "seconds": limit.seconds});
            }
            if client.token_lifetime == 0 {
                shown["token_lifetime"] = 0.into();
            }
            if !client.global {
                shown["global"] = false.into();
            }
            shown
        })
        .collect();
    let held = tenant.samples();
    let line = json!({
        "url": format!("http://{address}"),
        "clients": clients,
        "rate_limit_policy": held.rate_limit_policy,
        "connection_profile_template": held.connection_profile_template,
        "connection": held.connection,
        "event_stream": held.event_stream,
        "event": held.event,
        "verifiable_credential_template": held.verifiable_credential_template,
        "action": held.action,
    });
    format!("{line}\n")
}

/// What is particular about a client, for people.
fn remark(client: &Client) -> String {
    let mut remark = plural(client.scopes.len(), "scope");
    if !client.scopes.iter().any(|scope| scope == "read:rate_limit_policies") {
        remark.push_str(", not read:rate_limit_policies");
    }
    if let Some(limit) = client.rate_limit {
        let _ = write!(remark, ", {} in {} s", plural(limit.requests, "request"), limit.seconds);
    }
    if client.token_lifetime == 0 {
        remark.push_str(", tokens that have expired when they come");
    }
    if !client.global {
        remark.push_str(", not global");
    }
    remark
}

/// One form field as curl and a shell take it.
fn curl_field(name: &str, value: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    if value.bytes().all(plain) {
        format!("-d {name}={value}")
    } else {
        format!("--data-urlencode '{name}={}'", value.replace('\'', r"'\''"))
    }
}

fn welcome_text(address: SocketAddr, tenant: &Tenant) -> String {
    let mut text = format!("\nThe sandbox tenant answers at http://{address}/api/v2\n\n");
    let width = tenant.clients().iter().map(|client| client.id.len()).max().unwrap_or_default();
    for client in tenant.clients() {
        let secret = client.secret.as_deref().filter(|_| client.generated).unwrap_or("as in --seed");
        let _ = writeln!(text, "  client {:width$}  secret {secret}  ({})", client.id, remark(client));
    }
    text.push('\n');
    let held = tenant.samples();
    let ids = [
        ("rate limit policy", &held.rate_limit_policy),
        ("connection profile template", &held.connection_profile_template),
        ("connection", &held.connection),
        ("event stream", &held.event_stream),
        ("failed event", &held.event),
        ("credential template", &held.verifiable_credential_template),
        ("action", &held.action),
    ];
    for (kind, id) in ids {
        if let Some(id) = id {
            let _ = writeln!(text, "  {kind:27}  {id}");
        }
    }
    if let Some(client) = tenant.clients().first() {
        let path = match &held.rate_limit_policy {
            Some(id) => {
                format!("rate-limit-policies/{}", form_urlencoded::byte_serialize(id.as_bytes()).collect::<String>())
            }
            None => "connection-profiles/templates".to_owned(),
        };
        let _ = write!(
            text,
            "\nTry it:\n\n  curl -H \"Authorization: Bearer $(curl -s http://{address}/oauth/token/ \
             -d grant_type=client_credentials {} {} -d audience=/api/v2/ \
             | sed 's/.*\"access_token\":\"\\([^\"]*\\)\".*/\\1/')\" http://{address}/api/v2/{path}\n\n",
            curl_field("client_id", &client.id),
            match &client.secret {
                Some(secret) if client.generated => curl_field("client_secret", secret),
                _ => "--data-urlencode \"client_secret=$CLIENT_SECRET\"".to_owned(),
            },
        );
    }
    text.push_str("`contrail sandbox --explain` lists what the document leaves open and the sandbox had to choose.\n");
    text
}

fn choices_text() -> String {
    let mut text = "What the tenant's document leaves open, and what the sandbox does. \
                    The choices are the sandbox's, never the contract's.\n"
        .to_owned();
    let mut operation = "";
    for choice in CHOICES {
        if choice.operation != operation {
            operation = choice.operation;
            let _ = writeln!(text, "\n{}", if operation == "all" { "Every operation" } else { operation });
        }
        let _ = writeln!(text, "  {} (section {})\n      {}", choice.aspect, choice.section, choice.choice);
    }
    text
}

fn choices_json() -> String {
    let choices: Vec<Value> = CHOICES
        .iter()
        .map(|choice| {
            json!({
                "operation": choice.operation, "aspect": choice.aspect, "section": choice.section,
                "choice": choice.choice,
            })
        })
        .collect();
    format!("{}\n", Value::Array(choices))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_that_a_shell_would_read_is_quoted() {
        assert_eq!(curl_field("client_secret", "aZ0-._~"), "-d client_secret=aZ0-._~");
        assert_eq!(curl_field("client_secret", "a&b'c"), r"--data-urlencode 'client_secret=a&b'\''c'");
    }
}
