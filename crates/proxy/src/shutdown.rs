//! Waiting for the shutdown, and work that ends with it.

use tokio::sync::watch;

pub(crate) async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

/// What comes before a connection's first request; `None` if `stop` turns true first, since there is nothing to end.
pub(crate) async fn unless_stopped<T>(stop: &mut watch::Receiver<bool>, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased; // a request that is here is still looked at
        done = work => Some(done),
        () = stopped(stop) => None,
    }
}
