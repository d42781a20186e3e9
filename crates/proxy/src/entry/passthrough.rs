//! What passes unseen under `--tunnel allow`: CONNECT tunnels, and requests in absolute form to other hosts.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use http::StatusCode;
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use tokio::{net::TcpStream, sync::watch};

use super::forward::{Denial, Forward};
use crate::upstream::{Problem, own::Resolved};
use crate::{HostPort, Proxy, tunnel};

/// Why nothing goes to a target.
#[derive(Debug)]
pub(super) enum Unreachable {
    /// It resolves to one of contrail's own listeners.
    Own(Denial),
    /// No connection to it could be opened.
    Failed(Problem),
}

/// The addresses of a target that is not contrail itself.
pub(super) async fn resolve(forward: &Forward, target: &HostPort) -> Result<Vec<SocketAddr>, Unreachable> {
    forward.own.resolve(&target.host, target.port).await.map_err(|error| match error {
        Resolved::Own => Unreachable::Own(Denial::own(target)),
        Resolved::Unknown(error) => {
            let detail = format!("cannot resolve {target}: {error}");
            Unreachable::Failed(Problem::new(StatusCode::BAD_GATEWAY, "upstream", detail))
        }
    })
}

/// Connects to a target. The addresses that were checked are the ones that are connected to.
pub(super) async fn connect(forward: &Forward, target: &HostPort) -> Result<TcpStream, Unreachable> {
    let addresses = resolve(forward, target).await?;
    let connected = tokio::time::timeout(forward.connect_timeout, TcpStream::connect(addresses.as_slice())).await;
    let problem = match connected {
        Ok(Ok(stream)) => return Ok(stream),
        Ok(Err(error)) => Problem::new(StatusCode::BAD_GATEWAY, "upstream", format!("cannot reach {target}: {error}")),
        Err(_) => {
            let detail = format!("{target} did not accept a connection in time");
            Problem::new(StatusCode::GATEWAY_TIMEOUT, "upstream-timeout", detail)
        }
    };
    Err(Unreachable::Failed(problem))
}

/// Passes bytes between a client whose CONNECT was accepted and its target. `held` is kept until the tunnel ends.
pub(super) fn tunnel(
    request: http::Request<Incoming>,
    stream: TcpStream,
    proxy: &Arc<Proxy>,
    held: impl Send + 'static,
    stop: watch::Receiver<bool>,
) {
    let silence: Duration = proxy.settings.tunnel_timeout;
    tokio::spawn(async move {
        match hyper::upgrade::on(request).await {
            Ok(upgraded) => tunnel::pass(TokioIo::new(upgraded), stream, silence, stop).await,
            Err(error) => tracing::debug!(%error, "a CONNECT was not taken up"),
        }
        drop(held);
    });
}
