//! SIGHUP: certificates are read again, and no connection is dropped.

use std::{
    fs,
    io::{self, BufRead, BufReader, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    process::Stdio,
    sync::Arc,
    thread,
};

use nix::{
    fcntl::{FcntlArg, FdFlag, fcntl},
    pty::openpty,
    sys::{
        signal::{Signal, kill},
        stat::Mode,
    },
    unistd::{Pid, mkfifo},
};
use tokio_rustls::rustls::{
    self, ClientConnection, ServerConnection, StreamOwned,
    pki_types::{CertificateDer, ServerName},
};

use super::{ask, metered, signal, sum};
use crate::{
    record::harness::{TEMPLATES, Workspace},
    support::{
        command::contrail,
        golden::assert_line,
        process::Running,
        tls::trusting,
        wire::{Message, call, read},
    },
};

/// A certificate for this machine, and its key, written over those before.
fn write_certificate(folder: &Path) -> CertificateDer<'static> {
    let (certificate, key) = certificate();
    fs::write(folder.join("cert.pem"), certificate.pem()).unwrap();
    fs::write(folder.join("key.pem"), key.serialize_pem()).unwrap();
    certificate.der().clone()
}

fn certificate() -> (rcgen::Certificate, rcgen::KeyPair) {
    let params = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let key = rcgen::KeyPair::generate().unwrap();
    (params.self_signed(&key).unwrap(), key)
}

/// `watch` with a TLS listener by the certificate in the folder; the addresses of the listener and of the metrics.
fn watch_tls(workspace: &Workspace, options: &[&str]) -> (Running, SocketAddr, SocketAddr) {
    let tls = ["--tls-listen", "127.0.0.1:0", "--cert", "cert.pem", "--key", "key.pem", "--metrics", "127.0.0.1:0"];
    let (running, metrics) = metered(workspace.start("watch", &[&tls, options].concat()));
    let address = running.addresses[1];
    (running, address, metrics)
}

/// A client that trusts this certificate and no other.
struct Client(StreamOwned<ClientConnection, TcpStream>);

impl Client {
    fn connect(to: SocketAddr, trusted: &CertificateDer<'static>) -> io::Result<Self> {
        let config = trusting(trusted.clone(), "http/1.1");
        let name = ServerName::IpAddress(to.ip().into());
        let mut tls = ClientConnection::new(config, name).map_err(io::Error::other)?;
        let mut stream = TcpStream::connect(to)?;
        while tls.is_handshaking() {
            tls.complete_io(&mut stream)?;
        }
        Ok(Self(StreamOwned::new(tls, stream)))
    }

    fn get(&mut self) -> Message {
        write!(self.0, "GET {TEMPLATES} HTTP/1.1\r\nHost: p\r\n\r\n").unwrap();
        read(&mut BufReader::new(&mut self.0), false, true).unwrap()
    }
}

/// Sends SIGHUP and waits for what comes of it.
pub(super) fn reload(running: &Running, metrics: SocketAddr) {
    let reloads = || sum(metrics, "contrail_reloads_total");
    let before = reloads();
    signal(running, Signal::SIGHUP);
    while reloads() == before {
        thread::yield_now();
    }
}

#[test]
fn new_connections_get_the_new_certificate_and_open_ones_go_on() {
    for workers in ["1", "3"] {
        let workspace = Workspace::new();
        let old = write_certificate(workspace.path());
        let (running, address, metrics) = watch_tls(&workspace, &["--workers", workers]);
        let mut open = Client::connect(address, &old).unwrap();
        assert_eq!(open.get().status(), 401);
        let new = write_certificate(workspace.path());
        assert!(Client::connect(address, &new).is_err(), "a changed file alone changes nothing");
        reload(&running, metrics);
        assert_eq!(Client::connect(address, &new).unwrap().get().status(), 401);
        assert!(Client::connect(address, &old).is_err());
        assert_eq!(open.get().status(), 401);
        assert_eq!(sum(metrics, "contrail_reloads_total{outcome=\"succeeded\"}"), 1);
        drop(open);
        let ran = running.finish();
        assert_line(&ran.stderr, "reloaded --cert --key; new connections use them");
        assert_line(&ran.stderr, "3 exchanges: 0 conform, 0 with gaps, 3 violate");
    }
}

#[test]
fn clients_that_send_all_the_time_notice_nothing_of_a_reload() {
    let workspace = Workspace::new();
    let certificate = write_certificate(workspace.path());
    let (running, address, metrics) = watch_tls(&workspace, &["--workers", "2"]);
    let clients: Vec<_> = (0..4)
        .map(|_| {
            let mut client = Client::connect(address, &certificate).unwrap();
            thread::spawn(move || (0..50).filter(|_| client.get().status() == 401).count())
        })
        .collect();
    for _ in 0..5 {
        reload(&running, metrics);
    }
    for client in clients {
        assert_eq!(client.join().unwrap(), 50);
    }
    running.finish();
}

#[test]
fn a_broken_new_file_is_an_alarm_and_the_old_certificate_stays() {
    let workspace = Workspace::new();
    let old = write_certificate(workspace.path());
    let (running, address, metrics) = watch_tls(&workspace, &[]);
    fs::write(workspace.path().join("cert.pem"), "not a certificate").unwrap();
    reload(&running, metrics);
    assert!(Client::connect(address, &old).is_ok());
    // A certificate that was renewed before its key.
    fs::write(workspace.path().join("cert.pem"), certificate().0.pem()).unwrap();
    reload(&running, metrics);
    assert!(Client::connect(address, &old).is_ok());
    assert_eq!(sum(metrics, "contrail_reloads_total{outcome=\"failed\"}"), 2);
    let ran = running.finish();
    assert_line(
        &ran.stderr,
        "ALARM: --cert cert.pem: nothing usable in it (PEM is expected): it holds no certificate; what was read before \
         stays in force",
    );
    assert_line(
        &ran.stderr,
        "ALARM: --cert and --key cannot be used together: the key belongs to another certificate; name the certificate's \
         own key; what was read before stays in force",
    );
    assert_eq!(ran.status, 0);
}

#[test]
fn a_new_authority_for_the_upstream_counts_for_new_connections() {
    let workspace = Workspace::new();
    let (theirs, key) = certificate();
    let tenant = TcpListener::bind("127.0.0.1:0").unwrap();
    let upstream = format!("https://{}", tenant.local_addr().unwrap());
    let key = rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![theirs.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    thread::spawn(move || {
        for stream in tenant.incoming() {
            let tls = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = StreamOwned::new(tls, stream.unwrap());
            if read(&mut BufReader::new(&mut stream), false, false).is_ok() {
                let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n");
            }
        }
    });
    let ca = workspace.path().join("ca.pem");
    fs::write(&ca, certificate().0.pem()).unwrap();
    let options = ["watch", "--upstream", &upstream, "--upstream-ca", "ca.pem", "--upstream-proxy", "none"];
    let listeners = ["--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"];
    let (running, metrics) = metered(Running::start(workspace.path(), options.iter().chain(&listeners)));
    assert_eq!(call(running.address, "GET", "/x", &[], b"").status(), 502);
    fs::write(&ca, theirs.pem()).unwrap();
    reload(&running, metrics);
    assert_eq!(call(running.address, "GET", "/x", &[], b"").status(), 204);
    fs::write(&ca, "nothing").unwrap();
    reload(&running, metrics);
    assert_eq!(call(running.address, "GET", "/x", &[], b"").status(), 204);
    fs::remove_file(&ca).unwrap();
    mkfifo(&ca, Mode::S_IRWXU).unwrap();
    reload(&running, metrics);
    assert_eq!(call(running.address, "GET", "/x", &[], b"").status(), 204);
    let ran = running.finish();
    assert_line(&ran.stderr, "reloaded --upstream-ca; new connections use them");
    for why in ["it holds none", "it is no regular file; put one in its place"] {
        let alarm = format!("ALARM: --upstream-ca ca.pem: no certificate can be read from it (PEM is expected): {why}");
        assert_line(&ran.stderr, &format!("{alarm}; what was read before stays in force"));
    }
}

#[test]
fn a_pipe_in_place_of_a_certificate_is_an_alarm_and_holds_up_no_later_reload() {
    let workspace = Workspace::new();
    write_certificate(workspace.path());
    let (running, address, metrics) = watch_tls(&workspace, &[]);
    for name in ["cert.pem", "key.pem"] {
        let pipe = workspace.path().join(name);
        fs::remove_file(&pipe).unwrap();
        mkfifo(&pipe, Mode::S_IRWXU).unwrap();
        reload(&running, metrics);
        fs::remove_file(&pipe).unwrap();
        let new = write_certificate(workspace.path());
        reload(&running, metrics);
        assert_eq!(Client::connect(address, &new).unwrap().get().status(), 401);
    }
    let ran = running.finish();
    for option in ["--cert cert.pem", "--key key.pem"] {
        let why = "nothing usable in it (PEM is expected): it is no regular file; put one in its place";
        assert_line(&ran.stderr, &format!("ALARM: {option}: {why}; what was read before stays in force"));
    }
}

/// Standard error of a `contrail` that a test reads line by line.
pub(super) struct Said(std::process::Child, BufReader<std::process::ChildStderr>);

impl Said {
    fn start(workspace: &Workspace, options: &[&str]) -> Self {
        Self::begin(workspace, &[&["watch", "--upstream", "sandbox", "--listen", "127.0.0.1:0"], options].concat())
    }

    pub(super) fn begin(workspace: &Workspace, arguments: &[&str]) -> Self {
        let mut child =
            contrail().current_dir(workspace.path()).args(arguments).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let mut said = Self(child, stderr);
        said.until("listening on");
        said
    }

    /// Reads up to a line with this text in it.
    pub(super) fn until(&mut self, text: &str) -> String {
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            assert!(self.1.read_line(&mut line).unwrap() > 0, "it ended before it said {text}");
        }
        line
    }

    pub(super) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.0.id().cast_signed()), signal).unwrap();
    }
}

impl Drop for Said {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_run_without_files_of_certificates_says_so_and_goes_on() {
    let workspace = Workspace::new();
    let mut said = Said::start(&workspace, &["--format", "json"]);
    for _ in 0..2 {
        said.signal(Signal::SIGHUP);
        let line: serde_json::Value = serde_json::from_str(&said.until("SIGHUP")).unwrap();
        let message = "SIGHUP: no certificate of this run comes from a file that can be read again";
        assert_eq!(line, serde_json::json!({"reloaded": [], "message": message}));
    }
    said.signal(Signal::SIGTERM);
    assert_eq!(said.0.wait().unwrap().code(), Some(0));
}

#[test]
fn a_closed_terminal_ends_the_run() {
    let workspace = Workspace::new();
    let terminal = openpty(None, None).unwrap();
    // Else contrail itself would hold it open.
    fcntl(&terminal.master, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).unwrap();
    let mut command = contrail();
    command.current_dir(workspace.path()).args(["record", "--upstream", "sandbox", "--out", "a.har"]);
    command.args(["--listen", "127.0.0.1:0"]).stdin(terminal.slave).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(command);
    let stderr = BufReader::new(child.stderr.take().unwrap());
    let mut said = Said(child, stderr);
    said.until("listening on");
    said.signal(Signal::SIGHUP);
    said.until("SIGHUP: no certificate");
    drop(terminal.master);
    // What another test started at that moment may hold it open for a while.
    let mut line = String::from("SIGHUP");
    while line.contains("SIGHUP") {
        said.signal(Signal::SIGHUP);
        line.clear();
        said.1.read_line(&mut line).unwrap();
    }
    assert!(said.0.wait().unwrap().code().is_some());
    assert!(!workspace.has("a.har.journal"));
}

#[test]
fn a_hangup_during_the_drain_cuts_no_exchange() {
    let workspace = Workspace::new();
    let tenant = TcpListener::bind("127.0.0.1:0").unwrap();
    let options = ["--metrics", "127.0.0.1:0", "--drain", "60"];
    let (running, metrics) = metered(workspace.start_at(tenant.local_addr().unwrap(), "watch", &options));
    let mut client = TcpStream::connect(running.address).unwrap();
    write!(client, "GET {TEMPLATES} HTTP/1.1\r\nHost: p\r\n\r\n").unwrap();
    let (mut upstream, _) = tenant.accept().unwrap();
    read(&mut BufReader::new(&upstream), false, false).unwrap();
    signal(&running, Signal::SIGTERM);
    while ask(metrics, "/readyz").status() == 200 {
        thread::yield_now();
    }
    signal(&running, Signal::SIGHUP);
    upstream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}").unwrap();
    assert_eq!(read(&mut BufReader::new(&client), false, true).unwrap().body, b"{}");
    running.wait();
}
