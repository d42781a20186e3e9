//! Running a proxy until a signal, or the end of its command, ends it.

use std::{
    io::{self, IsTerminal as _},
    sync::{Arc, Mutex},
};

use contrail_pipeline::{LineFormat, Pipeline};
use contrail_proxy::{
    Committed, Completed, Observer, Proxy, Settings,
    entry::listener,
    metrics::Phase,
    upstream::{
        Origin, Upstream, live,
        own::{OwnAddresses, Resolved},
        routes::Routes,
    },
    workers::Workers,
};
use tokio::{sync::watch, task::JoinSet};

use super::{
    CommandStatus, Failure, Format,
    env_file::EnvFile,
    environment::Environment,
    listeners::Open,
    metrics::{self, RunningProxy},
    options::{contract::warn_of_unusable_places, limits::ProxyArgs},
    outbound::{FirstHop, OutboundPolicy, Site, UpstreamSite},
    reload::Reload,
    signals::{Signals, Wish},
    wrap,
};

/// Listens to what passes unseen.
#[derive(Debug)]
struct NoObserver;

impl Observer for NoObserver {
    fn on_completed(&self, _: Completed) -> Committed {
        Committed::now()
    }
}

/// Upstreams by the origins that their requests go to.
pub(super) type ByOrigin = Vec<(Origin, Arc<dyn Upstream>)>;

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunEnd {
    /// How the wrapped command ended, if there was one.
    pub command: Option<CommandStatus>,
    /// What the command got to find the listeners by, as in `CONTRAIL_URL=http://127.0.0.1:41234`.
    pub given: Vec<String>,
    /// The lines that say where it listened.
    pub listeners: Vec<String>,
}

impl RunEnd {
    /// How the wrapped command failed, if it did.
    #[must_use]
    pub fn failure(&self) -> Option<CommandStatus> {
        self.command.filter(|ended| ended.status != 0)
    }

    /// How the wrapped command ended before its work was done: it failed, or contrail was stopped.
    #[must_use]
    pub fn cut_short(&self) -> Option<CommandStatus> {
        self.command.filter(|ended| ended.status != 0 || ended.interrupted)
    }
}

impl ProxyArgs {
    /// Serves until a signal (or the end of the wrapped command), drains, and returns. `upstream` gets what makes one
    /// upstream of several and of the intercepted hosts; `upstreams` are how clients call them. `ready` runs after
    /// `listening on` was printed.
    ///
    /// # Errors
    ///
    /// The port is taken, or the command cannot be run.
    pub(in crate::cli) fn run(
        &self,
        pipeline: &Arc<Pipeline>,
        upstream: impl FnOnce(&dyn Fn(ByOrigin) -> Arc<dyn Upstream>) -> Arc<dyn Upstream>,
        upstreams: &[UpstreamSite],
        outbound: &OutboundPolicy,
        ready: impl FnOnce(),
    ) -> Result<RunEnd, Failure> {
        self.listeners.check()?;
        let own = match outbound {
            OutboundPolicy::Memory => OwnAddresses::without_names(),
            OutboundPolicy::Anywhere { .. } => OwnAddresses::default(),
        };
        if let Some(address) = pipeline.metrics().and_then(|metrics| metrics.address) {
            own.add(address);
        }
        if let Some(page) = &self.page {
            own.add(page.socket);
        }
        if let Some(control) = self.control {
            own.add(control);
        }
        let settings = self.settings(upstreams.iter().map(UpstreamSite::target).collect());
        let (workers, threads) = Workers::start(self.workers, || {
            let writer = Arc::clone(pipeline);
            async move { writer.run().await }
        })
        .map_err(|error| format!("cannot start {} workers: {error}; --workers takes fewer", self.workers))?;
        let settings = Settings { own: own.clone(), workers, tenant: Arc::clone(pipeline) as _, ..settings };
        let routes = |upstreams, access| {
            let access = live::Access { own: own.clone(), ..access };
            Arc::new(Routes::new(upstreams, access, self.live_limits()))
        };
        let by_origin = |upstreams: ByOrigin| -> Arc<dyn Upstream> {
            match (&*upstreams, outbound) {
                ([(_, only)], _) if self.listeners.intercept.is_empty() => Arc::clone(only),
                (_, OutboundPolicy::Anywhere { access, .. }) => routes(upstreams, (**access).clone()),
                (_, OutboundPolicy::Memory) => routes(upstreams, live::Access::default()),
            }
        };
        let proxy = Proxy::new(settings.clone(), upstream(&by_origin), Arc::clone(pipeline) as _)?;
        let unseen = Proxy::new(settings, routes(Vec::new(), live::Access::default()), Arc::new(NoObserver))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let site = Site { upstreams, own, outbound };
        let ran = runtime.block_on(self.serve(pipeline, proxy, unseen, &site, ready));
        // Exchanges that the drain did not see to their end are recorded as they are dropped.
        drop((runtime, threads));
        pipeline.flush();
        ran
    }

    fn print_control(&self, format: Format) {
        if let Some(control) = self.control.map(|address| format!("http://{address}")) {
            super::summary::event(format, "control", &*control, &format!("control on {control}"));
        }
    }

    async fn serve(
        &self,
        pipeline: &Arc<Pipeline>,
        proxy: Arc<Proxy>,
        unseen: Arc<Proxy>,
        site: &Site<'_>,
        ready: impl FnOnce(),
    ) -> Result<RunEnd, Failure> {
        let mut signals = Signals::new()?;
        let around_command = !self.command.is_empty();
        let env_file = self.listeners.env_file.as_deref().map(EnvFile::claim).transpose()?;
        let for_client = around_command || env_file.is_some();
        let mut listeners = self.listeners.open(site, unseen, self.connect_timeout, for_client).await?;
        proxy.opened(listeners.reverse());
        not_itself(site).await?;
        let Site { own, outbound, .. } = site;
        if let Some(receiver) = &self.telemetry.otlp
            && own.names(&receiver.origin.host, receiver.origin.port)
        {
            return Err(format!("--otlp {receiver} is contrail itself; name a receiver of telemetry").into());
        }
        let only = matches!(outbound, OutboundPolicy::Memory).then_some(&*self.direct);
        let node = self.listeners.node.is_for(&self.command);
        let inherited = |name: &str| std::env::var_os(name);
        let mut environment = for_client.then(|| Environment::new(&listeners, only, node, inherited)).transpose()?;
        if let Some(environment) = &mut environment {
            environment.add(&self.for_command, self.control, &listeners);
        }
        let writer = Arc::clone(pipeline);
        let writer = tokio::spawn(async move { writer.run().await });
        let (stop, stopping) = watch::channel(false);
        let mut lines = listeners.lines();
        lines.extend(pipeline.metrics().and_then(|metrics| metrics::line(metrics)));
        let mut servers = JoinSet::new();
        for Open { listener, door, .. } in listeners.open.drain(..) {
            servers.spawn(listener::serve(Arc::clone(&proxy), listener, door, stopping.clone()));
        }
        if let Some(metrics) = pipeline.metrics() {
            metrics.serve(Box::new(RunningProxy::new(pipeline, &proxy)));
        }
        let format = if pipeline.lines() == LineFormat::Json { Format::Json } else { Format::Text };
        if let Some(environment) = &environment {
            environment.print_dropped(format);
            // Who waits for `listening on` finds the file.
            env_file.as_ref().map_or(Ok(()), |file| file.write(environment))?;
        }
        self.print_control(format);
        for line in &lines {
            let address = line.strip_prefix("listening on ").and_then(|rest| rest.split(' ').next());
            super::summary::event(format, "listening", address, line);
        }
        // The first exchange finds the schemas compiled, or waits for them.
        let prepared = pipeline.contract();
        let (warned, warnings) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            warn_of_unusable_places(&prepared);
            let _ = warned.send(());
            prepared.prepare();
        });
        if let Some(page) = &self.page {
            page.introduce(format, &proxy, &lines, environment.as_ref().map_or_else(Vec::new, Environment::addresses));
        }
        let reload = Arc::new(Reload {
            files: listeners.files.take(),
            upstream: proxy.upstream(),
            metrics: pipeline.metrics().cloned(),
            format,
            ended: Mutex::new(false),
        });
        ready();
        let ended = match self.command.split_first() {
            None => {
                if format == Format::Text && io::stderr().is_terminal() {
                    super::summary::event(format, "stop", "Ctrl-C", "press Ctrl-C to stop");
                }
                let mut reloads = None;
                while signals.wish().await == Wish::Reload {
                    let _ = reloads.get_or_insert_with(|| reload.begin()).try_send(());
                }
                Ok(None)
            }
            Some((program, arguments)) => {
                wrap::run(program, arguments, environment.as_ref(), &mut signals).await.map(Some)
            }
        };
        if let Some(metrics) = pipeline.metrics() {
            metrics.enter(Phase::Draining);
        }
        let _ = stop.send(true);
        tokio::select! {
            () = async { while servers.join_next().await.is_some() {} } => {}
            // Who asks twice does not want to wait for the drain.
            () = signals.end() => {
                proxy.cutting("contrail stopped before the exchange was over: a second signal came");
                servers.abort_all();
            }
        }
        writer.abort();
        reload.end();
        // A short command would end before they are printed.
        let _ = warnings.await;
        let given = environment.as_ref().filter(|_| around_command).map_or_else(Vec::new, Environment::addresses);
        Ok(RunEnd { command: ended?, given, listeners: lines })
    }
}

/// Refuses an upstream that is contrail itself, or is reached through it.
async fn not_itself(site: &Site<'_>) -> Result<(), Failure> {
    let Site { upstreams, own, outbound } = site;
    for (at, UpstreamSite { origin, .. }) in upstreams.iter().enumerate() {
        let first = outbound.first().get(at);
        if own.names(&origin.host, origin.port)
            || matches!(first, Some(FirstHop::Upstream))
                && matches!(own.resolve(&origin.host, origin.port).await, Err(Resolved::Own))
        {
            return Err(format!("the upstream {origin} is contrail itself; name the tenant with --upstream").into());
        }
        if let Some(FirstHop::Proxy(via)) = first
            && own.names(&via.host, via.port)
        {
            return Err(via.unreachable(&"it is contrail itself").into());
        }
    }
    Ok(())
}
