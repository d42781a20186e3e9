//! `contrail demo --contract`: a request for every operation of any contract, against its mock.

use std::{ffi::OsString, path::Path, sync::Arc};

use contrail_exchange::plural::plural;
use contrail_sandbox::{
    self as sandbox,
    mock::{Mock, Sample},
};
use http::header;
use http_body_util::Full;
use tokio::{net::TcpListener, sync::oneshot};

use super::{
    child::{self, FIXTURE, Server, next_exchange, shown},
    client,
    screen::Screen,
};
use crate::cli::{ContractArgs, Failure};

/// Runs the demo, and gives the options that name the contract to other commands; `None` where it recorded nothing.
pub(super) async fn demo(
    folder: &Path,
    args: &ContractArgs,
    screen: &mut Screen,
) -> Result<Option<Vec<OsString>>, Failure> {
    let contract = args.load()?;
    let title = format!("`{}` (version {})", contract.title(), contract.version());
    let mock = Arc::new(Mock::new(contract, None, 0)?);
    let samples = mock.samples();
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let upstream = format!("http://{}", listener.local_addr()?);
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(sandbox::serve(listener, Arc::clone(&mock), async {
        let _ = stopped.await;
    }));
    let options = absolute(args)?;
    screen.print(&format!(
        "A mock of {title} listens on {upstream}, and a client calls it through a recording proxy:\n\n\
         $ contrail record --upstream {upstream} --out {FIXTURE} --contract …\n"
    ))?;
    let recorded = record(folder, &upstream, &options, &samples, screen).await?;
    drop(stop);
    serving.await??;
    if recorded.is_empty() {
        screen.omit("no exchange was recorded, so there is nothing to verify or replay")?;
        screen.print("")?;
        return Ok(None);
    }
    verify(folder, &options, recorded.len(), screen).await?;
    replay(folder, &options, &recorded, screen).await?;
    Ok(Some(options))
}

/// The contract's options with absolute paths, for processes that start in the demo's folder.
fn absolute(args: &ContractArgs) -> Result<Vec<OsString>, Failure> {
    let mut options = Vec::new();
    for (option, files) in [("--contract", &args.contract), ("--overlay", &args.overlay)] {
        for file in files {
            let named = file == Path::new(contrail_contract::BUILT_IN);
            let path = if named { file.clone() } else { std::path::absolute(file)? };
            options.extend([option.into(), path.into_os_string()]);
        }
    }
    Ok(options)
}

fn arguments(fixed: &[&str], options: &[OsString]) -> Vec<OsString> {
    fixed.iter().map(OsString::from).chain(options.iter().cloned()).collect()
}

/// Sends every request through a recording proxy.
async fn record<'s>(
    folder: &Path,
    upstream: &str,
    options: &[OsString],
    samples: &'s [(String, Option<Sample>)],
    screen: &mut Screen,
) -> Result<Vec<(&'s Sample, u16)>, Failure> {
    let fixed = ["record", "--upstream", upstream, "--out", FIXTURE, "--listen", "127.0.0.1:0", "--format", "json"];
    let arguments = arguments(&fixed, options);
    let mut proxy = Server::start(folder, &arguments, &folder.join("record.log")).await?;
    let address = proxy.address.clone();
    let mut recorded = Vec::new();
    let (mut conforming, mut with_gaps, mut without) = (0, 0, 0);
    for (operation, sample) in samples {
        let Some(sample) = sample else {
            screen.omit(&format!("{operation}: contrail found no valid request"))?;
            without += 1;
            continue;
        };
        let status = send(&address, sample).await?;
        let live = next_exchange(&mut proxy).await?;
        let violations: Vec<&str> = live.violations().collect();
        if !violations.is_empty() {
            screen.check(false, &format!("{operation}: status {status}, {}", violations.join(", ")))?;
        }
        if status == 501 {
            screen.omit(&format!("{operation}: contrail found no conforming answer; the mock answers 501"))?;
            without += 1;
        } else if live.rules.is_empty() {
            conforming += 1;
        } else {
            with_gaps += 1;
        }
        recorded.push((sample, status));
    }
    let (_, status) = proxy.stop().await?;
    // A recording of nothing is none.
    if !recorded.is_empty() {
        screen.check(status == Some(0), &format!("the recording ended with exit status {}", shown(status)))?;
    }
    let all = plural(samples.len(), "operation");
    let without = if without > 0 { format!(", {without} without an exchange that conforms") } else { String::new() };
    screen.check(true, &format!("{all}: {conforming} conform, {with_gaps} with gaps{without}"))?;
    Ok(recorded)
}

async fn verify(folder: &Path, options: &[OsString], count: usize, screen: &mut Screen) -> Result<(), Failure> {
    screen.print(&format!("\n$ contrail verify {FIXTURE} --contract …\n"))?;
    let (report, status) = child::verify(folder, options).await?;
    let summary = &report["summary"];
    screen.check(
        status == Some(0) && summary["exchanges"] == count,
        &format!(
            "{}: {} conform, {} with gaps, {} violate",
            plural(summary["exchanges"].as_u64().unwrap_or_default(), "exchange"),
            summary["conforms"],
            summary["gap"],
            summary["violates"]
        ),
    )
}

async fn replay(
    folder: &Path,
    options: &[OsString],
    recorded: &[(&Sample, u16)],
    screen: &mut Screen,
) -> Result<(), Failure> {
    screen.print(&format!("\n$ contrail replay {FIXTURE} --contract …\n"))?;
    let arguments = arguments(&["replay", FIXTURE, "--listen", "127.0.0.1:0", "--format", "json"], options);
    let server = Server::start(folder, &arguments, &folder.join("replay.log")).await?;
    let address = server.address.clone();
    let mut same = 0;
    for (sample, status) in recorded {
        let again = send(&address, sample).await?;
        if again == *status {
            same += 1;
        } else {
            screen.check(false, &format!("{}: recorded {status}, replayed {again}", sample.operation))?;
        }
    }
    let (_, status) = server.stop().await?;
    screen.check(
        same == recorded.len() && status == Some(0),
        &format!("the fixture answers {same} of {}", plural(recorded.len(), "request")),
    )?;
    screen.print("")
}

/// The status that a request gets.
async fn send(address: &str, sample: &Sample) -> Result<u16, Failure> {
    let mut request = http::Request::builder().method(&sample.method).uri(&sample.target).header(header::HOST, address);
    for (name, value) in &sample.headers {
        request = request.header(name, value);
    }
    Ok(client::send(address, request.body(Full::new(sample.body.clone()))?).await?.status)
}
