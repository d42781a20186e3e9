//! The environment of a wrapped command: the proxy's addresses, and certificate bundles that trust it.

use std::{
    borrow::Cow,
    env,
    ffi::{OsStr, OsString},
    fs::Permissions,
    io::{self, Write as _},
    net::{IpAddr, SocketAddr},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use contrail_proxy::{
    HostPort,
    entry::authority::{pem, trust_store},
    upstream::no_proxy::covers,
};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use tempfile::TempDir;

use super::{Format, listeners::Listeners, printer::private_file, summary};

/// Bundles that hold public roots as well as contrail's; each runtime reads another variable.
const BUNDLES: &[&str] = &[
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "CARGO_HTTP_CAINFO",
    "AWS_CA_BUNDLE",
    "PIP_CERT",
    "HTTPLIB2_CA_CERTS",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
    "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE",
];

/// What gives the fetch, http and https of older versions of Node the proxy.
const NODE_PRELOAD: &str = include_str!("node.cjs");

/// Where systems keep their roots as one PEM file.
const SYSTEM_BUNDLES: &[&str] = &[
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// The variables, and the files that they name; the files live as long as this value.
#[derive(Debug)]
pub(super) struct Environment {
    /// Names and values to set.
    pub(super) variables: Vec<(Cow<'static, str>, OsString)>,
    /// Entries of the user's `NO_PROXY` that the command does not get, since requests to them would pass around a
    /// replay.
    dropped: Vec<String>,
    _files: Option<TempDir>,
}

impl Environment {
    /// For a command that is to use these listeners. In a replay, `only` are the hosts beside this machine that it may
    /// reach without contrail. `node` gives programs of Node the proxy. `inherited` reads contrail's own environment.
    ///
    /// # Errors
    ///
    /// The bundles cannot be written.
    pub(super) fn new(
        listeners: &Listeners,
        only: Option<&[String]>,
        node: bool,
        inherited: impl Fn(&str) -> Option<OsString>,
    ) -> io::Result<Self> {
        let (mut variables, mut dropped) = (addresses(listeners), Vec::new());
        if let Some(address) = listeners.forward() {
            let credentials = listeners.credentials.as_deref().map(user_info).unwrap_or_default();
            let proxy = format!("http://{credentials}{}", reach(address, "127.0.0.1"));
            for name in ["CONTRAIL_PROXY", "HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"] {
                variables.push((name.into(), proxy.clone().into()));
            }
            variables.push(("NODE_USE_ENV_PROXY".into(), "1".into()));
            let inherited = inherited("NO_PROXY").or_else(|| inherited("no_proxy")).unwrap_or_default();
            let direct;
            (direct, dropped) = no_proxy(&inherited.to_string_lossy(), &listeners.opened_hosts, only);
            for name in ["NO_PROXY", "no_proxy"] {
                variables.push((name.into(), direct.clone().into()));
            }
        }
        let mut files = None;
        if !listeners.authorities.is_empty() {
            let cannot = |error: io::Error| {
                let place = std::env::temp_dir();
                io::Error::new(
                    error.kind(),
                    format!(
                        "cannot write the CA bundles for the command to a folder in {}: {error}; make room there, or set TMPDIR",
                        place.display()
                    ),
                )
            };
            // A user who can write here can make CMD trust any certificate authority.
            let private = Permissions::from_mode(0o700);
            let folder = tempfile::Builder::new().prefix("contrail-").permissions(private).tempdir().map_err(cannot)?;
            let write = |name: &str, parts: &[&[u8]]| {
                let path = folder.path().join(name);
                private_file(&path, true).and_then(|mut file| file.write_all(&parts.join(&b'\n'))).map_err(cannot)?;
                Ok::<_, io::Error>(path)
            };
            let own: String = listeners.authorities.iter().map(|authority| authority.certificate_pem()).collect();
            let own = own.as_bytes();
            variables.push(("CONTRAIL_CA".into(), write("ca.pem", &[own])?.into()));
            let path = |name: &str| inherited(name).filter(|path| !path.is_empty()).map(PathBuf::from);
            let extra = path("NODE_EXTRA_CA_CERTS").and_then(|path| std::fs::read(path).ok()).unwrap_or_default();
            let node_bundle = write("node.pem", &[&extra, own])?;
            variables.push(("NODE_EXTRA_CA_CERTS".into(), node_bundle.clone().into()));
            variables.push(("DENO_CERT".into(), node_bundle.into()));
            let roots = system_roots(path("SSL_CERT_FILE").as_deref());
            let common = write("roots.pem", &[&roots, own])?;
            let store = trust_store(&[&roots[..], b"\n", own].concat());
            variables.push(("CONTRAIL_TRUSTSTORE".into(), write("roots.p12", &[&store])?.into()));
            for name in BUNDLES {
                // What a runtime is configured to trust on its own stays trusted beside the common bundle.
                let bundle =
                    match path(name).filter(|_| *name != "SSL_CERT_FILE").and_then(|path| std::fs::read(path).ok()) {
                        Some(told) => write(&format!("{}.pem", name.to_ascii_lowercase()), &[&told, &roots, own])?,
                        None => common.clone(),
                    };
                variables.push(((*name).into(), bundle.into()));
            }
            if node {
                let preload = write("node.cjs", &[NODE_PRELOAD.as_bytes()])?;
                let options = node_options(&inherited("NODE_OPTIONS").unwrap_or_default(), &preload);
                variables.push(("NODE_OPTIONS".into(), options));
            }
            files = Some(folder);
        }
        Ok(Self { variables, dropped, _files: files })
    }

    /// Adds further variables, and the address of the control listener, if there is one, which the command reaches
    /// without the proxy.
    pub(super) fn add(&mut self, more: &[(&'static str, String)], control: Option<SocketAddr>, listeners: &Listeners) {
        self.variables.extend(more.iter().map(|(name, value)| ((*name).into(), value.into())));
        let reached = control.map(|address| reach(address, own_name(&listeners.opened_hosts)));
        self.variables.extend(reached.map(|reached| ("CONTRAIL_CONTROL".into(), format!("http://{reached}").into())));
    }

    /// Prints which entries of `NO_PROXY` the command does not get.
    pub(super) fn print_dropped(&self, format: Format) {
        if self.dropped.is_empty() {
            return;
        }
        let list = self.dropped.join(", ");
        let line = format!("CMD's NO_PROXY keeps this machine only; contrail dropped {list} (--direct HOST keeps one)");
        summary::event(format, "no_proxy_dropped", self.dropped.as_slice(), &line);
    }

    /// The variables that lead to the proxy; with their values, where no password is in them.
    pub(super) fn addresses(&self) -> Vec<String> {
        let leads = |name: &str| name.starts_with("CONTRAIL_URL") || matches!(name, "HTTP_PROXY" | "HTTPS_PROXY");
        self.variables
            .iter()
            .filter(|(name, _)| leads(name))
            .map(|(name, value)| match value.to_str() {
                Some(value) if !value.contains('@') => format!("{name}={value}"),
                _ => name.to_string(),
            })
            .collect()
    }
}

/// By which addresses the command calls the upstreams: the first by `CONTRAIL_URL`, and by `CONTRAIL_URL_NAME` each that
/// has a name, and each of several.
fn addresses(listeners: &Listeners) -> Vec<(Cow<'static, str>, OsString)> {
    let loopback = own_name(&listeners.opened_hosts);
    let mut variables: Vec<(Cow<'static, str>, OsString)> = Vec::new();
    for (at, upstream) in listeners.upstreams.iter().enumerate() {
        let reached = |scheme: &str, address| format!("{scheme}://{}", reach(address, loopback));
        let tls = listeners.tls(at).map(|address| reached("https", address));
        let Some(url) = tls.or_else(|| Some(reached("http", listeners.plain(at)?))) else { continue };
        if at == 0 {
            variables.push(("CONTRAIL_URL".into(), url.clone().into()));
        }
        if upstream.name.is_some() || listeners.upstreams.len() > 1 {
            let name = upstream.name().to_ascii_uppercase().replace('-', "_");
            variables.push((format!("CONTRAIL_URL_{name}").into(), url.into()));
        }
    }
    variables
}

/// Under which name the command reaches the reverse listener: one that can stand in `NO_PROXY` without covering the
/// upstream, since many clients know no ports there.
fn own_name(opened: &[HostPort]) -> &'static str {
    let taken = |name: &str| opened.iter().any(|target| target.host == name);
    if taken("127.0.0.1") { "localhost" } else { "127.0.0.1" }
}

fn reach(address: SocketAddr, loopback: &str) -> String {
    let ip = address.ip();
    if ip == IpAddr::from([127, 0, 0, 1]) || ip.is_unspecified() {
        format!("{loopback}:{}", address.port())
    } else {
        address.to_string()
    }
}

/// The options that Node has already, and the file that it is to load first.
fn node_options(inherited: &OsStr, preload: &Path) -> OsString {
    let mut options = inherited.to_owned();
    if !options.is_empty() {
        options.push(" ");
    }
    let path = preload.to_string_lossy();
    // Node splits the list at spaces that are not quoted.
    let is_plain = path.chars().all(|letter| letter.is_ascii_alphanumeric() || "/._-".contains(letter));
    let quoted = if is_plain { path } else { format!("{path:?}").into() };
    options.push(format!("--require={quoted}"));
    options
}

fn user_info(credentials: &str) -> String {
    let encode = |text| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
    format!("{}:{}@", encode(user), encode(password))
}

/// The inherited list and this machine's own names, without what would keep a request for an opened host from the
/// proxy; with `only`, of the inherited list what names this machine, and these hosts. Then the entries that `only`
/// drops.
fn no_proxy(inherited: &str, opened: &[HostPort], only: Option<&[String]>) -> (String, Vec<String>) {
    let mut entries: Vec<&str> = inherited.split([',', ' ']).map(str::trim).filter(|entry| !entry.is_empty()).collect();
    let mut dropped = Vec::new();
    if let Some(direct) = only {
        let (kept, lost) =
            entries.into_iter().partition(|entry| names_this_machine(entry) || direct.iter().any(|host| host == entry));
        entries = kept;
        dropped = lost;
        entries.extend(direct.iter().map(String::as_str));
    }
    entries.extend(["localhost", "127.0.0.1", "::1"]);
    entries.retain(|entry| !opened.iter().any(|target| covers(entry, &target.host, target.port)));
    let mut seen = std::collections::HashSet::new();
    entries.retain(|entry| seen.insert(*entry));
    (entries.join(","), dropped.into_iter().map(str::to_owned).collect())
}

/// Whether an entry of `NO_PROXY` covers nothing but this machine.
fn names_this_machine(entry: &str) -> bool {
    let host = match entry.rsplit_once(':') {
        Some((host, _)) if !host.contains(':') || host.ends_with(']') => host,
        _ => entry,
    };
    let address = host.trim_matches(['[', ']']).parse();
    host.eq_ignore_ascii_case("localhost") || host == "127.0.0.0/8" || address.is_ok_and(|ip: IpAddr| ip.is_loopback())
}

/// The system's roots as PEM, and those that the user named.
fn system_roots(named: Option<&Path>) -> Vec<u8> {
    let mut roots = named.and_then(|path| std::fs::read(path).ok()).unwrap_or_default();
    if let Some(system) = SYSTEM_BUNDLES.iter().find_map(|path| std::fs::read(path).ok()) {
        roots.push(b'\n');
        roots.extend(system);
        return roots;
    }
    for certificate in rustls_native_certs::load_native_certs().certs {
        roots.push(b'\n');
        roots.extend(pem(&certificate).into_bytes());
    }
    roots
}

/// The value of `CI`, where it shows that this is CI.
pub(super) fn ci() -> Option<String> {
    let value = env::var_os("CI")?.to_string_lossy().into_owned();
    let denies = ["", "0", "false"].iter().any(|word| value.trim().eq_ignore_ascii_case(word));
    (!denies).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(host: &str, port: u16) -> HostPort {
        HostPort { host: host.into(), port }
    }

    #[test]
    fn no_proxy_keeps_the_users_entries_but_never_covers_the_upstream() {
        let upstream = [target("tenant.example", 443)];
        let list = |inherited| no_proxy(inherited, &upstream, None).0;
        let covering = list("internal.corp, .example,tenant.example:443,*");
        assert_eq!(covering, "internal.corp,localhost,127.0.0.1,::1");
        assert_eq!(list("other.example"), "other.example,localhost,127.0.0.1,::1");
    }

    #[test]
    fn in_a_replay_no_proxy_keeps_this_machine_and_the_named_hosts_only() {
        let upstream = [target("tenant.example", 443)];
        let inherited = "internal.corp,LOCALHOST,10.0.0.0/8,127.0.0.0/8,[::1]:80,*,127.0.0.1/1,minio";
        let (list, dropped) = no_proxy(inherited, &upstream, Some(&["minio".to_owned(), "tenant.example".to_owned()]));
        assert_eq!(list, "LOCALHOST,127.0.0.0/8,[::1]:80,minio,localhost,127.0.0.1,::1");
        assert_eq!(dropped, ["internal.corp", "10.0.0.0/8", "*", "127.0.0.1/1"]);
    }

    #[test]
    fn an_upstream_on_this_machine_is_reached_through_the_proxy_and_contrail_by_another_name() {
        let upstream = [target("127.0.0.1", 9000)];
        assert_eq!(no_proxy("10.0.0.0/8,127.0.0.0/8", &upstream, None).0, "10.0.0.0/8,localhost,::1");
        assert_eq!(own_name(&upstream), "localhost");
        assert_eq!(reach("127.0.0.1:5000".parse().unwrap(), own_name(&upstream)), "localhost:5000");
    }

    #[test]
    fn node_keeps_its_options_and_loads_the_preload_from_any_path() {
        let options = |inherited: &str, path: &str| node_options(inherited.as_ref(), path.as_ref());
        assert_eq!(options("", "/tmp/c-1/node.cjs"), "--require=/tmp/c-1/node.cjs");
        assert_eq!(options("--trace-warnings", "/a b/c\"d"), "--trace-warnings --require=\"/a b/c\\\"d\"");
    }

    #[test]
    fn the_password_of_the_proxy_is_encoded_in_its_url() {
        assert_eq!(user_info("me:p@ss:w/d"), "me:p%40ss%3Aw%2Fd@");
    }
}
