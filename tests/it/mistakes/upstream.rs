//! Upstreams that cannot be reached: the live line names the cause and what helps.

use std::{fs, io::Read as _, net::TcpListener, sync::Arc, thread};

use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned, crypto::ring};

use crate::support::{
    command::run_in,
    golden::{assert_golden, masked, transcript},
    process::Running,
    wire::{Nobody, call},
};

/// A server of TLS for this name, on a port of its own, and its certificate, which is an authority's or a server's.
fn tls(name: &str, authority: bool) -> (String, String) {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap();
    if authority {
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    }
    let certificate = params.self_signed(&key).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key.serialize_der().try_into().unwrap())
        .unwrap();
    let config = Arc::new(config);
    let address = serve(move |stream| {
        let mut stream = StreamOwned::new(ServerConnection::new(config.clone()).unwrap(), stream);
        let _ = stream.read(&mut [0]);
    });
    (address, certificate.pem())
}

/// A server on a port of its own that does this with each connection, and closes it. Its thread ends with the process.
fn serve(connection: impl Fn(std::net::TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || listener.incoming().for_each(|stream| connection(stream.unwrap())));
    format!("localhost:{port}")
}

#[test]
fn an_upstream_that_cannot_be_reached_is_shown_with_its_cause_and_what_helps() {
    let plain = || {
        serve(|mut stream| {
            let _ = stream.read(&mut [0; 1024]);
            let _ = std::io::Write::write_all(&mut stream, b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
        })
    };
    // A label of more than 63 characters: no resolver asks the network for it.
    let no_name = format!("{}.example", "x".repeat(64));
    let (other, trusted) = tls("other.example", false);
    let https = |authority| format!("https://{}", tls("localhost", authority).0);
    let nobody = Nobody::new();
    let cases = [
        ("16-upstream-that-is-down", format!("http://localhost:{}", nobody.address.port())),
        ("17-upstream-without-an-address", format!("http://{no_name}")),
        ("18-upstream-with-an-authoritys-certificate", https(true)),
        ("18-upstream-with-an-unknown-certificate", https(false)),
        ("18-upstream-with-a-certificate-of-another-name", format!("https://{other}")),
        ("19-http-where-tls-is-spoken", format!("http://{}", tls("localhost", false).0)),
        ("19-https-where-no-tls-is-spoken", format!("https://{}", plain())),
    ];
    for (name, upstream) in cases {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("ca.pem"), &trusted).unwrap();
        let mut arguments = vec!["watch", "--listen", "127.0.0.1:0", "--upstream", &upstream];
        if upstream.starts_with("https") {
            arguments.extend(["--upstream-ca", "ca.pem"]);
        }
        let running = Running::start(folder.path(), &arguments);
        let answer = call(running.address, "GET", "/api/v2/connection-profiles/templates", &[], b"");
        assert_eq!(answer.status(), 502);
        let command = masked(&format!("contrail {}", arguments.join(" ")));
        assert_golden(&format!("mistakes/{name}.txt"), &transcript(&command, &running.finish()));
    }
}

#[test]
fn an_upstream_that_is_contrail_itself_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let ran = loop {
        // The port is free again once the listener is dropped.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let address = format!("localhost:{port}");
        let upstream = format!("http://{address}");
        let ran = run_in(folder.path(), ["watch", "--listen", &address, "--upstream", &upstream, "--", "true"]);
        // Another test may have taken the port meanwhile.
        if !ran.stderr.contains("cannot listen on") {
            break ran;
        }
    };
    let command = "contrail watch --listen localhost:PORT --upstream http://localhost:PORT -- true";
    assert_golden("mistakes/34-upstream-that-is-contrail.txt", &transcript(command, &ran));
}
