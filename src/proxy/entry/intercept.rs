//! The inside of a CONNECT that is opened: TLS with a certificate of our own, or plain HTTP.

use std::{net::IpAddr, sync::Arc};

use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::sync::watch;

use super::{
    forward::{Forward, HostPort},
    listener::{self, Way},
    tls,
};
use crate::proxy::{
    Proxy,
    wire::rewind::{Rewind, TLS_HANDSHAKE},
};

/// Serves the requests inside a CONNECT to `target`. Clients CONNECT for plain http too, so the first byte decides,
/// and the CONNECT's host decides where requests go: neither SNI nor an inner Host does.
pub(in crate::proxy) async fn serve(
    forward: Arc<Forward>,
    proxy: Arc<Proxy>,
    target: HostPort,
    upgraded: Upgraded,
    mut stop: watch::Receiver<bool>,
) {
    let patience = proxy.settings.header_timeout;
    let opening = tokio::time::timeout(patience, Rewind::first_byte(TokioIo::new(upgraded)));
    let Some(opened) = listener::unless_stopped(&mut stop, opening).await else { return };
    let Ok(Ok((Some(first), io))) = opened else {
        return forward.unread(&proxy, &target, "nothing came after a CONNECT within --header-timeout");
    };
    let scheme = if first == TLS_HANDSHAKE { "https" } else { "http" };
    let Some(destination) = forward.destination(&proxy, &target, scheme) else { return };
    let way = Way::Tunnel(destination);
    if first != TLS_HANDSHAKE {
        return listener::serve_connection(proxy, io, way, stop).await;
    }
    let config = match forward.authority_of(&target).server_config(&certified_name(&target)) {
        Ok(config) => config,
        Err(error) => {
            tracing::warn!(%error, "no certificate for an intercepted host");
            return;
        }
    };
    let handshake = tokio::time::timeout(patience, tls::accept(config, io));
    let Some(ended) = listener::unless_stopped(&mut stop, handshake).await else { return };
    match ended {
        Ok(Ok(stream)) => listener::serve_tls(proxy, stream, way, stop).await,
        Ok(Err(error)) => {
            tracing::debug!(error, "a TLS handshake after CONNECT failed");
            forward.unread(
                &proxy,
                &target,
                "a TLS handshake after CONNECT failed: does the client trust `contrail ca`?",
            );
        }
        Err(_) => forward.unread(&proxy, &target, "a TLS handshake after CONNECT did not end within --header-timeout"),
    }
}

/// The name in the certificate; the loopback names are in every one.
fn certified_name(target: &HostPort) -> String {
    match target.host.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().to_string(),
        Err(_) => target.host.clone(),
    }
}
