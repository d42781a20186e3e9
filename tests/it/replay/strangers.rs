//! Clients that keep the tenant's own address, and ask other hosts, too: `replay … -- CMD` without `--upstream`.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
};

use serde_json::json;
use tokio_rustls::rustls::{
    self, ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};

use super::{Workspace, exchange, get, own, summary};
use crate::support::{
    command::{Ran, contrail, limited},
    golden::{assert_line, assert_output},
    process::Running,
    wire,
};

/// A command that contrail runs, in whose place the test asks.
struct Wrapped {
    child: Child,
    proxy: String,
    bundle: PathBuf,
}

impl Wrapped {
    fn start(workspace: &Workspace, arguments: &[&str]) -> Self {
        Self::launch(contrail(), workspace, arguments)
    }

    fn launch(mut command: Command, workspace: &Workspace, arguments: &[&str]) -> Self {
        let script = "echo \"$HTTPS_PROXY\"; echo \"$SSL_CERT_FILE\"; cat";
        fs::create_dir_all(workspace.path().join("tmp")).unwrap();
        let mut child = command
            .current_dir(workspace.path())
            .env("TMPDIR", workspace.path().join("tmp"))
            .env("XDG_DATA_HOME", workspace.path().join("data"))
            .args(arguments)
            .args(["--", "sh", "-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
        let mut next = || lines.next().expect("the command ran").unwrap();
        let (proxy, bundle) = (next(), next().into());
        Self { child, proxy: proxy.strip_prefix("http://").unwrap().to_owned(), bundle }
    }

    /// Asks a host through the proxy as a client does that trusts the bundle; what comes back.
    fn ask(&self, host: &str, request: &str) -> String {
        let (mut stream, head) = self.connect(&format!("{host}:443"));
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(CertificateDer::pem_file_iter(&self.bundle).unwrap().map(Result::unwrap));
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from(host.to_owned()).unwrap();
        let client = ClientConnection::new(Arc::new(config), name).unwrap();
        let mut tls = StreamOwned::new(client, &mut stream);
        tls.write_all(format!("{request}\r\nHost: {host}\r\nConnection: close\r\n\r\n").as_bytes()).unwrap();
        let mut answer = String::new();
        tls.read_to_string(&mut answer).unwrap();
        answer
    }

    fn get(&self, host: &str, target: &str) -> String {
        self.ask(host, &format!("GET {target} HTTP/1.1"))
    }

    /// A tunnel, and the answer to its CONNECT.
    fn connect(&self, target: &str) -> (TcpStream, String) {
        let mut stream = TcpStream::connect(&self.proxy).unwrap();
        stream.write_all(format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n").as_bytes()).unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.extend(byte);
        }
        (stream, String::from_utf8(head).unwrap())
    }

    fn end(mut self) -> Ran {
        drop(self.child.stdin.take());
        self.child.wait_with_output().unwrap().into()
    }
}

fn tenant() -> Workspace {
    let workspace = Workspace::new();
    let link = get("/api/v2/x?from=https%3A%2F%2Ftenant.example%2Fa", "2");
    workspace.write_own("own.har", &[own(get("/api/v2/x", "1"), json!({})), own(link, json!({}))]);
    workspace
}

fn status(answer: &str) -> &str {
    answer.get(9..12).unwrap_or_default()
}

#[test]
fn a_client_that_keeps_the_tenants_own_address_is_answered_from_the_fixture() {
    let workspace = tenant();
    let wrapped = Wrapped::start(&workspace, &["replay", "own.har"]);
    for host in ["my-tenant.test", "tenant.example"] {
        let answer = wrapped.get(host, "/api/v2/x");
        assert!(status(&answer) == "200" && answer.ends_with("\r\n\r\n1"), "{host}: {answer}");
    }
    // Two hosts that nothing names are not both the tenant.
    assert_eq!(status(&wrapped.get("192.0.2.7", "/api/v2/x")), "421");
    // What holds its name is found under the fixture's.
    let answer = wrapped.get("my-tenant.test", "/api/v2/x?from=https%3A%2F%2Fmy-tenant.test%2Fa");
    assert!(answer.ends_with("\r\n\r\n2"), "{answer}");
    let mut plain = TcpStream::connect(&wrapped.proxy).unwrap();
    plain
        .write_all(b"GET http://my-tenant.test/api/v2/x HTTP/1.1\r\nHost: my-tenant.test\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    plain.read_to_string(&mut answer).unwrap();
    assert_eq!(status(&answer), "200", "{answer}");
    let ran = wrapped.end();
    assert_output("replay/strangers/a_client_that_keeps_the_tenants_own_address", &ran);
}

#[test]
fn answers_of_the_tenant_have_the_name_by_which_the_client_calls_it() {
    let mut moved = get("/old", r#"{"next":"https://tenant.example/new","mail":"a@tenant.example"}"#);
    moved["response"]["headers"] = json!([
        {"name": "Location", "value": "https://tenant.example/new"},
        {"name": "Set-Cookie", "value": "sid=1; Domain=tenant.example"},
    ]);
    let mut other = get("/old", "https://tenant.example/");
    other["request"]["url"] = "https://other.test/old".into();
    let workspace = Workspace::new();
    workspace.write_own("own.har", &[own(moved, json!({})), own(other, json!({}))]);
    let wrapped = Wrapped::start(&workspace, &["replay", "own.har", "--upstream", "https://my-tenant.test"]);
    let answer = wrapped.get("my-tenant.test", "/old").to_ascii_lowercase();
    for expected in [
        "\r\nlocation: https://my-tenant.test/new\r\n",
        "\r\nset-cookie: sid=1; domain=my-tenant.test\r\n",
        r#"{"next":"https://my-tenant.test/new","mail":"a@my-tenant.test"}"#,
    ] {
        assert!(answer.contains(expected), "{expected}: {answer}");
    }
    assert!(wrapped.get("other.test", "/old").ends_with("https://tenant.example/"), "the tenant is not this host");
    // An option names the tenant, so no other host is taken for it.
    assert_eq!(status(&wrapped.get("third.test", "/old")), "421");
    assert_eq!(wrapped.end().status, 3);
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| if path.is_dir() { [vec![path.clone()], files_below(&path)].concat() } else { vec![path] })
        .collect()
}

#[test]
fn the_key_of_the_authority_for_every_host_reaches_no_disk() {
    let workspace = tenant();
    let wrapped = Wrapped::start(&workspace, &["replay", "own.har"]);
    assert_eq!(status(&wrapped.get("my-tenant.test", "/api/v2/x")), "200");
    assert!(!workspace.path().join("data").exists(), "an authority was made on the disk");
    for file in files_below(workspace.path()).iter().filter(|path| path.is_file()) {
        let text = String::from_utf8_lossy(&fs::read(file).unwrap()).into_owned();
        assert!(!text.contains("PRIVATE KEY"), "{}", file.display());
    }
    wrapped.end();
}

#[test]
fn only_the_user_can_change_what_a_command_trusts_whatever_the_umask() {
    for umask in ["0", "002", "077"] {
        let workspace = tenant();
        let wrapped = Wrapped::launch(limited(&format!("umask {umask}")), &workspace, &["replay", "own.har"]);
        let made = files_below(&workspace.path().join("tmp"));
        assert!(made.len() >= 3, "{made:?}");
        for path in made {
            let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
            assert_eq!(mode, if path.is_dir() { 0o700 } else { 0o600 }, "umask {umask}: {}", path.display());
        }
        wrapped.end();
    }
}

#[test]
fn a_request_to_a_host_that_is_not_the_tenants_is_denied_named_and_fails_the_run() {
    for (more, expected) in [(&[][..], 3), (&["--allow", "denied"], 0)] {
        let workspace = tenant();
        let wrapped =
            Wrapped::start(&workspace, &[&["replay", "own.har", "--report", "junit=junit.xml"], more].concat());
        assert_eq!(status(&wrapped.get("my-tenant.test", "/api/v2/x")), "200");
        for _ in 0..2 {
            let answer = wrapped.ask("telemetry.test", "POST /v1/events HTTP/1.1");
            // A miss for the client: the host could still turn out to be the tenant's.
            assert_line(&answer, "contrail-answer: replay-miss");
            assert!(status(&answer) == "421", "{answer}");
            assert!(
                answer.contains(
                    "`POST /v1/events` to telemetry.test:443 is not recorded, and nothing identifies this host as the \
                     tenant's; --intercept telemetry.test:443 counts it as the tenant's; --allow denied lets the run \
                     pass"
                ),
                "{answer}"
            );
        }
        let ran = wrapped.end();
        assert_eq!(ran.status, expected, "{}", ran.stderr);
        assert_output(&format!("replay/strangers/a_denied_host_with_status_{expected}"), &ran);
        let report = fs::read_to_string(workspace.path().join("junit.xml")).unwrap();
        let case = if expected == 3 { "failure" } else { "skipped" };
        assert_line(&report, &format!("      <{case} type=\"denied\" message=\"host-denied: 2 requests\"></{case}>"));
    }
}

#[test]
fn json_lines_and_summary_name_denied_hosts() {
    let workspace = tenant();
    let wrapped = Wrapped::start(&workspace, &["replay", "own.har", "--format", "json"]);
    wrapped.get("telemetry.test", "/v1/events");
    let ran = wrapped.end();
    let line = ran.stderr.lines().find(|line| line.contains("\"turned_away\":\"")).unwrap();
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    assert_eq!(
        (&line["host"], &line["status"], &line["turned_away"]),
        (&json!("telemetry.test:443"), &json!(421), &json!("host-denied"))
    );
    assert_eq!(summary(&ran)["denied"], json!([{"host": "telemetry.test:443", "reason": "host-denied", "count": 1}]));
    assert_eq!(summary(&ran)["misses"], 0);
}

#[test]
fn a_request_to_the_tenants_host_that_was_not_recorded_stays_a_miss_that_nothing_allows() {
    let workspace = tenant();
    let wrapped = Wrapped::start(&workspace, &["replay", "own.har", "--allow", "denied"]);
    // Known by a recorded path, by a documented one, and by an answer.
    assert_eq!(status(&wrapped.get("one.test", "/api/v2/x?y=1")), "421");
    assert_eq!(status(&wrapped.get("two.test", "/api/v2/connection-profiles/templates")), "421");
    assert_eq!(status(&wrapped.get("two.test", "/nothing/like/it")), "421");
    assert_eq!(status(&wrapped.get("three.test", "/api/v2/x")), "200");
    assert_eq!(status(&wrapped.get("three.test", "/nothing/like/it")), "421");
    let ran = wrapped.end();
    assert_eq!(ran.status, 3, "{}", ran.stderr);
    assert_output(
        "replay/strangers/a_request_to_the_tenants_host_that_was_not_recorded_stays_a_miss_that_nothing_allows",
        &ran,
    );
}

#[test]
fn a_miss_is_a_miss_before_and_after_its_host_proves_to_be_the_tenants() {
    let workspace = tenant();
    let wrapped = Wrapped::start(&workspace, &["replay", "own.har", "--allow", "denied"]);
    assert_eq!(status(&wrapped.get("my-tenant.test", "/nothing/like/it")), "421");
    assert_eq!(status(&wrapped.get("my-tenant.test", "/api/v2/x")), "200");
    assert_eq!(status(&wrapped.get("my-tenant.test", "/nothing/like/it")), "421");
    let ran = wrapped.end();
    assert_eq!(ran.status, 3, "{}", ran.stderr);
}

#[test]
fn the_hosts_of_another_tools_recording_are_known() {
    let workspace = Workspace::new();
    let mut elsewhere = exchange("GET", "/a", None, 200, "1");
    elsewhere["request"]["url"] = "https://cdn.test/a".into();
    workspace.write("a.har", &[get("/api/v2/x", "1"), elsewhere]);
    let wrapped = Wrapped::start(&workspace, &["replay", "a.har"]);
    assert_eq!(status(&wrapped.get("cdn.test", "/b")), "421");
    assert_eq!(status(&wrapped.get("elsewhere.test", "/b")), "421");
    wrapped.end();
}

#[test]
fn a_tunnel_to_contrail_itself_stays_refused() {
    let workspace = tenant();
    let wrapped = Wrapped::start(&workspace, &["replay", "own.har"]);
    let port = wrapped.proxy.rsplit_once(':').unwrap().1.to_owned();
    for host in ["127.0.0.1", "localhost", "127.1"] {
        let (_, head) = wrapped.connect(&format!("{host}:{port}"));
        assert_line(&head, "contrail-answer: own-address");
        assert!(head.starts_with("HTTP/1.1 403"), "{head}");
    }
    let ran = wrapped.end();
    assert_eq!(ran.status, 3, "{}", ran.stderr);
    assert_output("replay/strangers/a_tunnel_to_contrail_itself_stays_refused", &ran);
}

#[test]
fn a_client_that_does_not_trust_the_authority_is_named_by_its_host() {
    let workspace = tenant();
    let wrapped = Wrapped::start(&workspace, &["replay", "own.har"]);
    let (stream, head) = wrapped.connect("pinned.test:443");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    let name = ServerName::try_from("pinned.test").unwrap();
    let client: rustls::ClientConnection = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut tls = StreamOwned::new(client, stream);
    assert!(tls.write_all(b"GET / HTTP/1.1\r\n\r\n").and_then(|()| tls.flush()).is_err());
    drop(tls);
    let ran = wrapped.end();
    assert_eq!(ran.status, 3, "{}", ran.stderr);
    assert_output("replay/strangers/a_client_that_does_not_trust_the_authority_is_named_by_its_host", &ran);
}

fn denied_without_a_command(workspace: &Workspace, arguments: &[&str]) -> Ran {
    let running = Running::start(workspace.path(), [arguments, &["--forward-listen", "127.0.0.1:0"]].concat());
    let request = b"CONNECT telemetry.test:443 HTTP/1.1\r\nHost: x\r\n\r\n";
    let answer = wire::send(running.address, "CONNECT", request).unwrap();
    assert_eq!((answer.status(), answer.header("contrail-answer")), (403, Some("tunnel-denied")));
    running.finish()
}

#[test]
fn a_forward_listener_without_a_command_denies_names_and_fails_the_run_in_replay_only() {
    let workspace = tenant();
    let ca = ["--ca-dir", "ca"];
    let replayed =
        |more: &[&str]| denied_without_a_command(&workspace, &[&["replay", "own.har"], &ca[..], more].concat());
    let ran = replayed(&[]);
    assert_eq!(ran.status, 3, "{}", ran.stderr);
    assert_output(
        "replay/strangers/a_forward_listener_without_a_command_denies_names_and_fails_the_run_in_replay_only",
        &ran,
    );
    assert_eq!(replayed(&["--allow", "denied"]).status, 0);
    let ran = denied_without_a_command(&workspace, &["watch", "--upstream", "sandbox", "--ca-dir", "ca"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_output(
        "replay/strangers/a_forward_listener_without_a_command_denies_names_and_fails_the_run_in_replay_only-2",
        &ran,
    );
}

#[test]
fn a_tunnel_out_of_replay_is_refused_at_the_start_and_ignored_from_a_variable() {
    let workspace = tenant();
    let run = |command: &mut Command| -> Ran { command.current_dir(workspace.path()).output().unwrap().into() };
    let ran = run(contrail().args(["replay", "own.har", "--tunnel", "allow", "--", "true"]));
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert_output("replay/strangers/a_tunnel_out_of_replay_is_refused_at_the_start_and_ignored_from_a_variable", &ran);
    let ran =
        run(contrail().env("CONTRAIL_TUNNEL", "allow").args(["replay", "own.har", "--allow", "unused", "--", "true"]));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
}
