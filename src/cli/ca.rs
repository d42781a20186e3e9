//! `contrail ca`: the local certificate authority: create, print, rotate, and how each runtime comes to trust it.

use std::{
    io::{self, Write},
    path::PathBuf,
};

use contrail_exchange::visible::visible;
use contrail_proxy::{
    entry::authority::{self, Authority, Rotated},
    upstream::masked,
};
use contrail_sandbox::{Seed, Tenant};

use super::{Failure, Format, Outcome, messages::quoted, printer::line};

/// Create, print or rotate the local certificate authority
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Action [default: print]
    #[arg(value_enum, default_value_t, hide_default_value = true)]
    action: Action,
    /// Upstream of the authority [default: all existing authorities]
    #[arg(long, value_name = "URL")]
    upstream: Vec<String>,
    /// Additional host of the authority, as for `record --intercept`; repeatable
    #[arg(long, value_name = "HOST")]
    intercept: Vec<String>,
    /// Folder of the authorities [default: `$XDG_DATA_HOME/contrail/ca` or `~/.local/share/contrail/ca`]
    #[arg(long, value_name = "DIR")]
    ca_dir: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum Action {
    /// Print path, fingerprint and trust help; create the authority if none exists
    #[default]
    Print,
    /// Replace the authority with a new one
    Rotate,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let base = args.ca_dir.clone().map_or_else(authority::default_folder, Ok)?;
    let mut hosts = args.upstream.iter().map(|url| host_of(url)).collect::<Result<Vec<_>, _>>()?;
    hosts.extend(args.intercept.iter().cloned());
    let named = !hosts.is_empty();
    let authorities = match args.action {
        Action::Rotate if named => vec![Authority::rotate(&base, &hosts)?],
        Action::Rotate => {
            let Rotated { authorities, removed } = Authority::rotate_all(&base)?;
            for folder in &removed {
                let folder = folder.display();
                line(&format!("removed {folder}, which names no host; a proxy for its hosts creates it again"));
            }
            if authorities.is_empty() && removed.is_empty() { vec![Authority::open(&base, &[])?] } else { authorities }
        }
        Action::Print if named => vec![Authority::open(&base, &hosts)?],
        Action::Print => match Authority::list(&base)? {
            none if none.is_empty() => vec![Authority::open(&base, &[])?],
            all => all.into_iter().collect::<Result<_, _>>()?,
        },
    };
    let mut out = io::stdout().lock();
    let printed = match args.format {
        Format::Text => print_text(&mut out, &authorities),
        Format::Json => print_json(&mut out, &authorities),
    };
    match printed {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(Outcome::CLEAN),
    }
}

/// The host of an origin; `sandbox` is the embedded tenant, under the origin that it is recorded as.
fn host_of(url: &str) -> Result<String, Failure> {
    if url == "sandbox" {
        return host_of(Tenant::new(Seed::built_in()?, &[])?.origin());
    }
    let uri: http::Uri = url.parse().map_err(|_| format!("`{}` is not a URL; expected https://TENANT", masked(url)))?;
    match uri.host() {
        Some(host) if uri.scheme().is_some() => Ok(host.to_owned()),
        _ => Err(format!("`{}` is not a URL with a host; expected https://TENANT", masked(url)).into()),
    }
}

fn print_json(out: &mut impl Write, authorities: &[Authority]) -> io::Result<()> {
    for authority in authorities {
        let line = serde_json::json!({
            "path": authority.certificate_path().map(|path| path.to_string_lossy().into_owned()),
            "fingerprint": authority.fingerprint(),
            "hosts": authority.hosts(),
        });
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn print_text(out: &mut impl Write, authorities: &[Authority]) -> io::Result<()> {
    for authority in authorities {
        let path = authority.certificate_path().unwrap_or_default();
        let hosts = authority.hosts().join(", ");
        writeln!(out, "certificate  {}", visible(&path.to_string_lossy()))?;
        writeln!(out, "SHA-256      {}", authority.fingerprint())?;
        writeln!(
            out,
            "valid for    {}localhost and loopback addresses, nothing else",
            if hosts.is_empty() { String::new() } else { hosts + ", " }
        )?;
        writeln!(out)?;
        let quoted = quoted(&path);
        for (runtime, line) in TRUST {
            writeln!(out, "  {runtime:<17}{}", line.replace("{}", &quoted))?;
        }
        writeln!(out)?;
    }
    writeln!(out, "`contrail record|watch|replay … -- CMD` sets the variables for CMD by itself.")
}

/// Per runtime the line that trusts the certificate `{}` for one program, not for the whole machine where that can be
/// avoided.
const TRUST: &[(&str, &str)] = &[
    ("curl", "curl --cacert {} …   or   export CURL_CA_BUNDLE={}"),
    ("Node", "export NODE_EXTRA_CA_CERTS={}   (read once, at process start)"),
    ("Python requests", "export REQUESTS_CA_BUNDLE={}"),
    ("Python httpx", "export SSL_CERT_FILE={}"),
    ("Go", "export SSL_CERT_FILE={}   (Linux; macOS and Windows use the system's store)"),
    ("Ruby", "export SSL_CERT_FILE={}"),
    (
        "Java",
        "keytool -importcert -noprompt -alias contrail -file {} -keystore contrail.p12 -storepass changeit   then   java -Djavax.net.ssl.trustStore=contrail.p12 -Djavax.net.ssl.trustStorePassword=changeit …",
    ),
    (".NET", "export SSL_CERT_FILE={}   (Linux; elsewhere the system's store)"),
    ("git", "export GIT_SSL_CAINFO={}"),
    ("Chromium (Linux)", "certutil -d sql:$HOME/.pki/nssdb -A -t C,, -n contrail -i {}"),
    ("Firefox", "Settings, Privacy & Security, Certificates, View Certificates, Authorities, Import: {}"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upstream_without_a_scheme_is_refused_with_a_hint() {
        assert_eq!(
            host_of("tenant.example").unwrap_err().to_string(),
            "`tenant.example` is not a URL with a host; expected https://TENANT"
        );
        assert_eq!(host_of("sandbox").unwrap(), "tenant.example");
        assert_eq!(host_of("https://tenant.example:8443").unwrap(), "tenant.example");
    }
}
