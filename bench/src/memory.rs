//! `memory`: what the recording proxy holds: idle connections, traffic at full speed, large bodies, the end of a long
//! recording.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Either, Empty};
use hyper::{Request, client::conn::http1};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::{
    Error,
    front::Front,
    load::{self, Traffic},
    measure::{self, TOKENS, origin},
    options,
    origin::Zeroes,
    process::{Memory, end, mb},
    traffic::{Mix, RECORDED},
    verify,
};

/// Measures and prints.
pub async fn run(args: &[String]) -> Result<(), Error> {
    let (mut contrail, mut connections, mut seconds, mut megabytes) =
        (PathBuf::from("contrail"), 2000_usize, 60_u64, 1024);
    options::each(args, |name, value| {
        match name {
            "--contrail" => contrail = value()?.into(),
            "--connections" => connections = value()?.parse()?,
            "--seconds" => seconds = value()?.parse()?,
            "--megabytes" => megabytes = value()?.parse::<u64>()?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let hard = nix::sys::resource::getrlimit(nix::sys::resource::Resource::RLIMIT_NOFILE)?.1;
    nix::sys::resource::setrlimit(nix::sys::resource::Resource::RLIMIT_NOFILE, hard, hard)?;
    let scratch = verify::tempdir()?;
    let traffic = Traffic::of(Mix::named(RECORDED)?, TOKENS)?;
    let origin = origin(None)?;
    let record = |name: &str| {
        let mut command =
            measure::command("record", &contrail, &traffic.mix, origin.address, &scratch.join(name), &Front::Http1)?;
        command.args(["--max-connections", &connections.max(1024).to_string()]);
        std::fs::create_dir_all(scratch.join(name))?;
        measure::start(&mut command, None, "listening on http://")
    };

    let running = record("idle")?;
    let before = Memory::of(&running.child)?;
    let mut held = Vec::with_capacity(connections);
    for _ in 0..connections {
        held.push(asked_once(running.address).await?);
    }
    let after = Memory::of(&running.child)?;
    println!(
        "{connections} idle connections, one exchange each: {:.1} MB, of which {:.1} MB without any; {:.1} KB each",
        mb(after.now),
        mb(before.now),
        (after.now - before.now) as f64 / 1024.0 / connections as f64
    );
    drop((held, running));

    let running = record("bodies")?;
    let before = Memory::of(&running.child)?;
    let bytes = megabytes << 20;
    large(running.address, "GET", &format!("/zeroes/{bytes}"), 0).await?;
    let down = Memory::of(&running.child)?;
    large(running.address, "POST", "/zeroes/0", bytes).await?;
    let up = Memory::of(&running.child)?;
    println!(
        "a body of {megabytes} MB: peak {:.1} MB after it came down, {:.1} MB after one went up; {:.1} MB before",
        mb(down.peak),
        mb(up.peak),
        mb(before.peak)
    );
    drop(running);

    let mut running = record("speed")?;
    let started = Instant::now();
    let (mut requests, mut samples) = (0, Vec::new());
    while started.elapsed() < Duration::from_secs(seconds) {
        requests += load::burst(&traffic, running.address, &Front::Http1, 32, 6400).await?.requests;
        samples.push((started.elapsed(), Memory::of(&running.child)?.now));
    }
    let half = &samples[samples.len() / 2..];
    let (first, last) = (half[0], half[half.len() - 1]);
    println!(
        "{requests} requests in {seconds} s: {:.1} MB halfway, {:.1} MB at the end, {:+.2} MB per 100,000 requests",
        mb(first.1),
        mb(last.1),
        (mb(last.1) - mb(first.1)) * 1e5 / (requests as f64 / 2.0)
    );
    let peak = end(&mut running.child).await?;
    println!("fold and proof of these {requests} exchanges: peak {:.1} MB", mb(peak));
    drop(running);
    std::fs::remove_dir_all(&scratch)?;
    Ok(())
}

/// A connection that has asked one request and stays open.
async fn asked_once(target: std::net::SocketAddr) -> Result<TcpStream, Error> {
    let mut stream = TcpStream::connect(target).await?;
    stream
        .write_all(b"GET /api/v2/rate-limit-policies/rlp_000000000000000001 HTTP/1.1\r\nHost: tenant\r\n\r\n")
        .await?;
    let mut answer = vec![0; 4096];
    let mut held = 0;
    while !answer[..held].ends_with(b"}}") && !answer[..held].ends_with(b"Z\"}") {
        let read = stream.read(&mut answer[held..]).await?;
        if read == 0 {
            return Err("the proxy closed the connection".into());
        }
        held += read;
    }
    Ok(stream)
}

/// One exchange with a large body; the answer is read and thrown away.
async fn large(target: std::net::SocketAddr, method: &str, path: &str, sent: u64) -> Result<(), Error> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(TcpStream::connect(target).await?)).await?;
    tokio::spawn(connection);
    let body = if sent > 0 { Either::Right(Zeroes(sent)) } else { Either::Left(Empty::<Bytes>::new()) };
    let request = Request::builder().method(method).uri(path).header("host", "tenant").body(body)?;
    let mut body = sender.send_request(request).await?.into_body();
    while let Some(frame) = body.frame().await {
        frame?;
    }
    Ok(())
}
