//! Workers: the threads that serve connections, each with an event loop of its own.
//!
//! The thread that accepts is one of them. A connection stays with its worker, and so does whatever is opened or
//! spawned for it; what they share is behind the [`crate::Proxy`].

use std::{
    future::Future,
    io,
    sync::Arc,
    thread::{self, JoinHandle},
};

use tokio::{
    net::TcpStream,
    runtime::{Builder, Handle},
    sync::oneshot,
    task::JoinSet,
};

/// All workers; by default the thread that accepts and no other.
#[derive(Debug, Clone)]
pub struct Workers(Arc<[Worker]>);

/// One worker.
#[derive(Debug)]
pub(crate) struct Worker {
    /// `None` for the thread that accepts.
    event_loop: Option<Handle>,
    load: Load,
}

/// Its connections hold one each.
pub(crate) type Load = Arc<()>;

impl Default for Workers {
    fn default() -> Self {
        Self([Worker::new(None)].into())
    }
}

impl Workers {
    /// So many, the thread that accepts included. On each of the others `beside` runs as well.
    ///
    /// # Errors
    ///
    /// The system gives no thread, or no event loop.
    pub fn start<F>(count: usize, beside: impl Fn() -> F) -> io::Result<(Self, Threads)>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let mut workers = Vec::new();
        let mut threads = Threads(Vec::new());
        for _ in 1..count {
            let runtime = Builder::new_current_thread().enable_all().build()?;
            workers.push(Worker::new(Some(runtime.handle().clone())));
            runtime.spawn(beside());
            let (stop, stopped) = oneshot::channel();
            let work = move || {
                let _ = runtime.block_on(stopped);
            };
            threads.0.push((stop, thread::Builder::new().name("worker".to_owned()).spawn(work)?));
        }
        workers.push(Worker::new(None));
        Ok((Self(workers.into()), threads))
    }

    /// The one with the fewest connections; of several, the thread that accepts is the last.
    pub(crate) fn least_busy(&self) -> &Worker {
        let least = self.0.iter().min_by_key(|worker| Arc::strong_count(&worker.load));
        least.expect("the thread that accepts is one")
    }
}

impl Worker {
    fn new(event_loop: Option<Handle>) -> Self {
        Self { event_loop, load: Load::default() }
    }

    pub(crate) fn load(&self) -> Load {
        Arc::clone(&self.load)
    }

    /// Serves a connection that was accepted, as one of these.
    pub(crate) fn serve<F>(
        &self,
        connections: &mut JoinSet<()>,
        stream: TcpStream,
        serve: impl FnOnce(TcpStream) -> F + Send + 'static,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        let Some(event_loop) = &self.event_loop else {
            connections.spawn(serve(stream));
            return;
        };
        // It has to be known to the event loop that waits for it, and to no other.
        let stream = stream.into_std();
        let served = async move {
            match stream.and_then(TcpStream::from_std) {
                Ok(stream) => serve(stream).await,
                Err(error) => tracing::warn!(%error, "a connection cannot be served"),
            }
        };
        connections.spawn_on(served, event_loop);
    }
}

/// The threads of the workers but the first. Dropped, they end, and with them what still runs there.
#[derive(Debug)]
pub struct Threads(Vec<(oneshot::Sender<()>, JoinHandle<()>)>);

impl Drop for Threads {
    fn drop(&mut self) {
        let (stops, threads): (Vec<_>, Vec<_>) = self.0.drain(..).unzip();
        drop(stops);
        for thread in threads {
            let _ = thread.join();
        }
    }
}
