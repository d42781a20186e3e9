//! `contrail-bench`: what contrail costs, beside a bare hyper proxy, in one run.
//!
//! ```text
//! contrail-bench measure --contrail PATH [--rounds N] [--requests N] [--connections N] [--front http1|http2|tls]
//!     [--mix NAME|all | --mix vendor --contract FILE] [--tokens N] [--console file|null] [SYSTEM…]
//!     (a SYSTEM may be `trail`, which keeps one in a folder, or the URL of a trail; `record@2` has two workers)
//! contrail-bench verify --contrail PATH [--megabytes N] [--rounds N]
//! contrail-bench documents --contrail PATH --documents DIR [--exchanges N] [--rounds N] [--only TEXT]
//!     [--figure wall|cpu|instructions|start]
//! contrail-bench long --contrail PATH [--mix NAME] [--entries N] [--requests N]
//! contrail-bench memory --contrail PATH [--connections N] [--seconds N] [--megabytes N]
//! contrail-bench make journal|har|pretty FILE [--mix NAME] [--megabytes N | --entries N] [--identities N]
//! contrail-bench instructions --contrail PATH [--expected FILE [--update true] | --trail URL…]
//! contrail-bench load MIX TARGET CONNECTIONS REQUESTS
//! contrail-bench origin [MIX-FILE] | bare UPSTREAM [FRONT]     (the parts, each printing its address)
//! ```
//!
//! The process under test is pinned to one core; origin and load generator share the others. CPU time is read from
//! `/proc`, of the whole process, around each burst; systems are interleaved round by round and medians reported.

mod bare;
mod child;
mod documents;
mod front;
mod instructions;
mod load;
mod long;
mod measure;
mod memory;
mod options;
mod origin;
mod peers;
mod process;
mod recordings;
mod traffic;
mod vendor;
mod verify;

use std::net::SocketAddr;

type Error = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let mut args = std::env::args().skip(1);
    match args.next().as_deref() {
        Some("origin") => origin::serve(args.next().as_deref().map(std::path::Path::new)).await,
        Some("bare") => {
            let upstream: SocketAddr = args.next().ok_or("bare UPSTREAM")?.parse()?;
            bare::serve(upstream, front::Front::from_arguments(&args.collect::<Vec<_>>())?).await
        }
        Some("load") => {
            let mut next = || Ok::<_, Error>(args.next().ok_or("load MIX TARGET CONNECTIONS REQUESTS")?);
            let traffic = load::Traffic::of(traffic::Mix::named(&next()?)?, measure::TOKENS)?;
            let (target, connections, requests) = (next()?.parse()?, next()?.parse()?, next()?.parse()?);
            load::burst(&traffic, target, &front::Front::Http1, connections, requests).await.map(drop)
        }
        Some("measure") => measure::run(&args.collect::<Vec<_>>()).await,
        Some("instructions") => instructions::run(&args.collect::<Vec<_>>()).await,
        Some("documents") => documents::run(&args.collect::<Vec<_>>()),
        Some("verify") => verify::run(&args.collect::<Vec<_>>()),
        Some("long") => long::run(&args.collect::<Vec<_>>()).await,
        Some("memory") => memory::run(&args.collect::<Vec<_>>()).await,
        Some("make") => recordings::make(&args.collect::<Vec<_>>()),
        Some("values") => verify::values(&args.next().ok_or("values FILE")?),
        Some("used") => child::used(&args.next().ok_or("used NOTE COMMAND…")?, &args.collect::<Vec<_>>()),
        _ => Err("usage: contrail-bench measure|verify|make …; the head of bench/src/main.rs has them all".into()),
    }
}
