//! A running contrail with all its listeners open, and every way of connecting to it.

use std::{fs, net::SocketAddr, path::Path, sync::Arc};

use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::mpsc,
};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig,
        pki_types::{CertificateDer, pem::PemObject as _},
    },
};

use super::requests::latin1;
use crate::{
    proxy::harness::{Wire, within},
    support::{har, process::Running, tls::trusting},
};

/// How a client reaches contrail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The reverse listener.
    Plain,
    /// The reverse listener over TLS.
    Tls,
    /// The forward listener, in absolute form.
    Absolute,
    /// A CONNECT, and nothing but HTTP inside.
    Tunnel,
    /// A CONNECT, and TLS inside.
    TlsTunnel,
}

impl Way {
    pub const ALL: [Self; 5] = [Self::Plain, Self::Tls, Self::Absolute, Self::Tunnel, Self::TlsTunnel];
}

/// Any connection.
pub trait Io: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Io for T {}

/// A connection that came about in some way.
pub type Client = Wire<Box<dyn Io>>;

/// A running `record`, `watch` or `replay`.
pub struct ProxyUnderTest {
    pub folder: tempfile::TempDir,
    pub running: Running,
    /// The upstream's authority, as clients of the forward listener name it.
    pub authority: String,
    tls: Arc<ClientConfig>,
    http2: Arc<ClientConfig>,
}

impl ProxyUnderTest {
    /// Starts a command in front of this upstream, with these further options;
    /// request bodies are at most 1000 bytes, unless they say otherwise.
    pub fn start(command: &str, scheme: &str, tenant: SocketAddr, options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let upstream = format!("{scheme}://{tenant}");
        let (of_command, authority) = match command {
            "record" => (vec!["--out", "rec.har", "--upstream", &upstream], tenant.to_string()),
            "watch" => (vec!["--trail", "trail", "--upstream", &upstream], tenant.to_string()),
            _ => {
                fs::write(folder.path().join("rec.har"), har::har(&[har::conforming()])).unwrap();
                (vec!["rec.har"], "tenant.example:443".to_owned())
            }
        };
        let listeners = ["--listen", "127.0.0.1:0", "--tls-listen", "127.0.0.1:0", "--forward-listen", "127.0.0.1:0"];
        let common = ["--ca-dir", "ca", "--format", "json"];
        let bodies = if options.contains(&"--max-body") { &[][..] } else { &["--max-body", "1000"] };
        let arguments = [&[command], &listeners[..], &common, bodies, &of_command, options].concat();
        let running = Running::start(folder.path(), arguments);
        let trusting = |protocol| trusting(made_in(folder.path()), protocol);
        let (tls, http2) = (trusting("http/1.1"), trusting("h2"));
        Self { folder, running, authority, tls, http2 }
    }

    /// A connection. With `http2` that is what TLS settles on; nothing of HTTP/2 is said yet.
    pub async fn client(&self, way: Way, http2: bool) -> Client {
        let [plain, tls, forward] = self.running.addresses[..] else { panic!("three listeners") };
        let to = match way {
            Way::Plain => plain,
            Way::Tls => tls,
            _ => forward,
        };
        let mut stream = Wire(within(TcpStream::connect(to)).await.unwrap());
        if matches!(way, Way::Tunnel | Way::TlsTunnel) {
            stream.send(&format!("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n\r\n", self.authority)).await;
            assert!(stream.until("\r\n\r\n").await.starts_with("HTTP/1.1 200 "));
        }
        if !matches!(way, Way::Tls | Way::TlsTunnel) {
            return Wire(Box::new(stream.0));
        }
        let name = match way {
            Way::Tls => "localhost".to_owned(),
            _ => self.authority.rsplit_once(':').unwrap().0.to_owned(),
        };
        let config = if http2 { &self.http2 } else { &self.tls };
        let connecting = TlsConnector::from(Arc::clone(config)).connect(name.try_into().unwrap(), stream.0);
        Wire(Box::new(within(connecting).await.unwrap()))
    }

    /// What a client that comes this way sends in place of a request to the reverse listener.
    pub fn spelled(&self, way: Way, request: &str) -> Vec<u8> {
        let line = request.find("HTTP/").unwrap_or(request.len());
        match request[..line].find(" /") {
            Some(at) if way == Way::Absolute => {
                latin1(&format!("{} http://{}{}", &request[..at], self.authority, &request[at + 1..]))
            }
            _ => latin1(request),
        }
    }

    /// Ends it; gives its summary and the journal's or fixture's text.
    pub fn finish(self) -> (i32, Value, String) {
        let ran = self.running.finish();
        let last = ran.stderr.lines().rev().find(|line| line.starts_with("{\"summary\"")).unwrap_or_default();
        let summary: Value = serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {}", ran.stderr));
        let kept = ["rec.har", "trail/trail-00000001.journal"].map(|name| self.folder.path().join(name));
        let kept = kept.iter().find_map(|path| fs::read_to_string(path).ok()).unwrap_or_default();
        (ran.status, summary["summary"].clone(), kept)
    }
}

/// The authority that contrail made in this folder.
fn made_in(folder: &Path) -> CertificateDer<'static> {
    let mut made = fs::read_dir(folder.join("ca")).unwrap().map(|item| item.unwrap().path().join("ca.pem"));
    let path = made.find(|path| path.exists()).unwrap();
    CertificateDer::from_pem_file(path).unwrap()
}

/// An upstream that answers whatever is whole, and tells what it got.
pub struct Tenant {
    pub address: SocketAddr,
    got: mpsc::UnboundedReceiver<(SocketAddr, String)>,
}

impl Tenant {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, got) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            loop {
                let (stream, from) = listener.accept().await.unwrap();
                let sender = sender.clone();
                tokio::spawn(async move {
                    let _ = sender.send((from, serve(stream).await));
                });
            }
        });
        Self { address, got }
    }

    /// What it got so far, one text for each connection that is over.
    pub async fn all(&mut self) -> Vec<String> {
        // Connections are taken in order, so all before this one are known once it is.
        let mut probe = Wire(TcpStream::connect(self.address).await.unwrap());
        probe.send("probe").await;
        drop(probe);
        let mut got = Vec::new();
        loop {
            let Some((from, text)) = within(self.got.recv()).await else { panic!("the tenant is gone") };
            match &*text {
                "probe" => return got,
                _ => got.push(format!("{from}: {text}")),
            }
        }
    }
}

/// Answers every whole request, until the connection ends; gives all that came.
async fn serve(mut stream: TcpStream) -> String {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let (mut all, mut begin) = (Vec::new(), 0);
    loop {
        while let Some(end) = request_end(&all[begin..]) {
            begin += end;
            if stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await.is_err() {
                break;
            }
        }
        if !matches!(stream.read_buf(&mut all).await, Ok(1..)) {
            return String::from_utf8_lossy(&all).into_owned();
        }
    }
}

/// Where the first request in these bytes ends, if it is whole.
fn request_end(bytes: &[u8]) -> Option<usize> {
    let after = |from: usize, mark: &str| {
        let at = bytes[from..].windows(mark.len()).position(|window| window == mark.as_bytes())?;
        Some(from + at + mark.len())
    };
    let head = after(0, "\r\n\r\n")?;
    let lower = String::from_utf8_lossy(&bytes[..head]).to_ascii_lowercase();
    if lower.contains("transfer-encoding: ") {
        return after(head - 2, "\r\n0\r\n\r\n")
            .or_else(|| bytes[head..].starts_with(b"0\r\n\r\n").then_some(head + 5));
    }
    let length = lower.split("content-length: ").nth(1).and_then(|rest| rest.split("\r\n").next());
    let end = head + length.map_or(0, |length| length.parse::<usize>().unwrap());
    (bytes.len() >= end).then_some(end)
}
