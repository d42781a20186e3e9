//! The inside of a CONNECT: TLS with a certificate of our own, plain HTTP, or a blind tunnel.

use std::{net::IpAddr, sync::Arc};

use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncWriteExt as _, copy_bidirectional},
    net::TcpStream,
    sync::watch,
};

use super::{
    Proxy,
    forward::{Forward, HostPort},
    listener::{self, Way},
    rewind::{Rewind, TLS_HANDSHAKE},
    tls,
};

/// Serves the requests inside a CONNECT to `target`. Clients CONNECT for plain http too, so the first byte decides,
/// and the CONNECT's host decides where requests go: neither SNI nor an inner Host does.
pub(super) async fn serve(
    forward: Arc<Forward>,
    proxy: Arc<Proxy>,
    target: HostPort,
    upgraded: Upgraded,
    stop: watch::Receiver<bool>,
) {
    let patience = proxy.settings.header_timeout;
    let opened = tokio::time::timeout(patience, Rewind::first_byte(TokioIo::new(upgraded))).await;
    let Ok(Ok((Some(first), io))) = opened else {
        proxy.observer.turned_away(0, "nothing came after a CONNECT within --header-timeout");
        return;
    };
    let scheme = if first == TLS_HANDSHAKE { "https" } else { "http" };
    let Some(destination) = forward.destination(&proxy, &target, scheme) else { return };
    let way = Way::Tunnel(destination);
    if first != TLS_HANDSHAKE {
        return listener::serve_connection(proxy, io, way, stop).await;
    }
    let config = match forward.authority.server_config(&certified_name(&target)) {
        Ok(config) => config,
        Err(error) => {
            tracing::warn!(%error, "no certificate for an intercepted host");
            return;
        }
    };
    match tokio::time::timeout(patience, tls::accept(config, io)).await {
        Ok(Ok(stream)) => listener::serve_tls(proxy, stream, way, stop).await,
        Ok(Err(error)) => {
            tracing::debug!(error, "a TLS handshake after CONNECT failed");
            proxy.observer.turned_away(0, "a TLS handshake after CONNECT failed: does the client trust `contrail ca`?");
        }
        Err(_) => {
            proxy.observer.turned_away(0, "a TLS handshake after CONNECT did not end within --header-timeout");
        }
    }
}

/// The name in the certificate; the loopback names are in every one.
fn certified_name(target: &HostPort) -> String {
    match target.host.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().to_string(),
        Err(_) => target.host.clone(),
    }
}

/// Passes bytes both ways, unseen, until one side ends or contrail stops.
pub(super) async fn tunnel(upgraded: Upgraded, mut target: TcpStream, mut stop: watch::Receiver<bool>) {
    let mut client = TokioIo::new(upgraded);
    tokio::select! {
        ended = copy_bidirectional(&mut client, &mut target) => {
            if let Err(error) = ended {
                tracing::debug!(%error, "a tunnel ended early");
            }
        }
        () = listener::stopped(&mut stop) => {
            let _ = client.shutdown().await;
        }
    }
}
