//! The embedded tenant, step by step: recorded, checked, and replayed.

use std::{
    collections::HashMap,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use contrail_sandbox::{self as sandbox, Misbehaviour, Seed, Tenant};
use serde_json::Value;
use tokio::{net::TcpListener, sync::oneshot};

use super::{
    child::{self, FIXTURE, Server, next_exchange, shown},
    client::{Client, Reply},
    line::Line,
    screen::Screen,
    script::{self, Act, Step},
};
use crate::cli::Failure;

/// A step's expected result, and its real one.
#[derive(Debug)]
struct StepResult {
    step: Step,
    reply: Reply,
    /// The line of the proxy about it.
    live: Line,
}

/// The embedded tenant, step by step.
pub(super) async fn demo(folder: &Path, screen: &mut Screen) -> Result<(), Failure> {
    let tenant = Arc::new(Tenant::new(Seed::built_in()?, &[])?);
    let secrets: HashMap<String, String> =
        tenant.clients().iter().filter_map(|client| Some((client.id.clone(), client.secret.clone()?))).collect();
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let upstream = format!("http://{}", listener.local_addr()?);
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(sandbox::serve(listener, Arc::clone(&tenant), async {
        let _ = stopped.await;
    }));

    screen.print(&format!(
        "A tenant listens on {upstream}, and a client calls it through a recording proxy:\n\n\
         $ contrail record --upstream {upstream} --out {FIXTURE}\n"
    ))?;
    let results = record(folder, &tenant, &secrets, &upstream, screen).await?;
    drop(stop);
    serving.await??;

    verify(folder, &results, screen).await?;
    replay(folder, &results, &secrets, screen).await
}

/// Plays all acts through a recording proxy.
async fn record(
    folder: &Path,
    tenant: &Tenant,
    secrets: &HashMap<String, String>,
    upstream: &str,
    screen: &mut Screen,
) -> Result<Vec<StepResult>, Failure> {
    let arguments = ["record", "--upstream", upstream, "--out", FIXTURE, "--listen", "127.0.0.1:0", "--format", "json"];
    let mut proxy = Server::start(folder, &arguments.map(OsStr::new), &folder.join("record.log")).await?;
    let address = proxy.address.clone();
    let mut client = Client::new(&address, secrets);
    let mut results = Vec::new();
    for Act { title, steps } in script::acts() {
        screen.print(&format!("{title}\n"))?;
        for step in steps {
            let breaks: Vec<Misbehaviour> =
                step.tenant_breaks.map(Misbehaviour::always).transpose()?.into_iter().collect();
            tenant.misbehave(&breaks);
            let reply = client.take(&step).await?;
            let live = next_exchange(&mut proxy).await?;
            let as_expected =
                reply.status == step.status && reply.whole == step.replayable && live.rules == step.expected_rules();
            screen.step(&step, &live, as_expected)?;
            results.push(StepResult { step, reply, live });
        }
        screen.print("")?;
    }
    let (rest, status) = proxy.stop().await?;
    let summary = rest.iter().find_map(|line| Some(serde_json::from_str::<Value>(line).ok()?.get("summary")?.clone()));
    let summary = summary.ok_or("the proxy ended without a summary")?;
    // The violations that were asked for count.
    screen.check(status == Some(1), &format!("the recording ended with exit status {}", shown(status)))?;
    let problems: Vec<&str> =
        summary["proof"]["problems"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    // One answer broke off, and a fixture that cannot give it back is not good.
    let as_expected = matches!(problems[..], [only] if only.contains("cannot be replayed"));
    let report = if as_expected {
        "replayed against itself, verified, scanned for secrets: it holds all but the answer that broke off".to_owned()
    } else {
        format!("unexpected problems: {problems:?}")
    };
    screen.check(as_expected, &format!("its proof names what cannot be replayed; {report}"))?;
    let kinds: Vec<String> =
        summary["secrets"].as_object().into_iter().flatten().map(|(kind, count)| format!("{kind} {count}")).collect();
    let found = exposed(folder, &client.secrets())?;
    screen.check(
        !kinds.is_empty() && found.is_none(),
        &match found {
            None => {
                format!("no secret of the client is in any file; labels replace them ({})", kinds.join(", "))
            }
            Some(file) => format!("a secret of the client is in {}", file.display()),
        },
    )?;
    Ok(results)
}

/// A file below `folder` in which one of these secrets stands as it is.
fn exposed(folder: &Path, secrets: &[String]) -> Result<Option<PathBuf>, Failure> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            if let Some(found) = exposed(&path, secrets)? {
                return Ok(Some(found));
            }
            continue;
        }
        let bytes = fs::read(&path)?;
        if secrets.iter().any(|secret| memchr::memmem::find(&bytes, secret.as_bytes()).is_some()) {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// Checks the recording, and that it gives what was given live.
async fn verify(folder: &Path, results: &[StepResult], screen: &mut Screen) -> Result<(), Failure> {
    screen.print(&format!("\n$ contrail verify {FIXTURE}\n"))?;
    let (report, status) = child::verify(folder, &[]).await?;
    let mut found: Vec<Line> = report["exchanges"].as_array().into_iter().flatten().filter_map(Line::read).collect();
    let mut live: Vec<Line> = results.iter().map(|result| result.live.clone()).collect();
    found.sort();
    live.sort();
    screen.check(
        found.len() == live.len(),
        &format!("{} of {} exchanges are in the recording", found.len(), live.len()),
    )?;
    let differing: Vec<&Line> = live.iter().filter(|line| !found.contains(line)).collect();
    screen
        .check(differing.is_empty() && found == live, "the recording alone gives every finding that was given live")?;
    for line in differing {
        screen.print(&format!(
            "      {} {} {}: live {}",
            line.method,
            line.target,
            line.status,
            line.rules.join(", ")
        ))?;
    }
    for rule in results.iter().filter_map(|result| result.step.tenant_breaks) {
        if !found.iter().any(|line| line.rules.iter().any(|found| found == rule.id())) {
            screen.check(false, &format!("the tenant's breach of {rule} is found"))?;
        }
    }
    let summary = &report["summary"];
    screen.check(
        status == Some(1),
        &format!(
            "{} conform, {} with gaps, {} violate; exit status {}",
            summary["conforms"],
            summary["gap"],
            summary["violates"],
            shown(status)
        ),
    )
}

/// Serves the recording and asks everything again.
async fn replay(
    folder: &Path,
    results: &[StepResult],
    secrets: &HashMap<String, String>,
    screen: &mut Screen,
) -> Result<(), Failure> {
    screen.print(&format!(
        "\nThe tenant is gone. The same client, before the recording:\n\n$ contrail replay {FIXTURE}\n"
    ))?;
    let arguments = ["replay", FIXTURE, "--listen", "127.0.0.1:0", "--format", "json"];
    let server = Server::start(folder, &arguments.map(OsStr::new), &folder.join("replay.log")).await?;
    let address = server.address.clone();
    let mut client = Client::new(&address, secrets);
    let (mut same, mut all, mut withheld) = (0, 0, 0);
    for StepResult { step, reply, .. } in results {
        let again = client.take(step).await?;
        if !step.replayable && again.status == 421 {
            withheld += 1;
            continue;
        }
        all += 1;
        match difference(step, reply, &again) {
            None => same += 1,
            Some(difference) => screen.check(false, &format!("{} {}: {difference}", step.method, step.target))?,
        }
    }
    screen.check(
        same == all,
        &format!("{same} of {all} answers are the tenant's, byte for byte (tokens are new ones, with the same scopes)"),
    )?;
    screen.check(
        withheld + all == results.len() && withheld == results.iter().filter(|result| !result.step.replayable).count(),
        "the one that broke off is not served as if it were whole: 421",
    )?;
    let step = script::never_recorded();
    let miss = client.take(&step).await?;
    let nearest = miss.json()["nearest"][0].clone();
    let differs = &nearest["differences"][0];
    screen.check(
        miss.status == step.status && differs["place"].is_string(),
        &format!(
            "what was never recorded is {}, with the nearest that was:\n        {} {}\n        {}\n        {}: {} here, {} there",
            miss.status,
            step.method,
            step.target,
            nearest["request"].as_str().unwrap_or_default(),
            differs["place"].as_str().unwrap_or_default(),
            differs["your request"],
            differs["fixture"],
        ),
    )?;
    let (_, status) = server.stop().await?;
    screen
        .check(status == Some(3), &format!("the replay ended with exit status {}, for these misses", shown(status)))?;
    screen.print("")
}

/// How an answer of the replay differs from the tenant's. A token is a new one each time.
fn difference(step: &Step, reply: &Reply, again: &Reply) -> Option<String> {
    if reply.status != again.status {
        return Some(format!("live status {}, replayed {}", reply.status, again.status));
    }
    if step.asks_token.is_some() {
        let (reply, again) = (reply.json(), again.json());
        let agree = reply["scope"] == again["scope"] && again["access_token"].is_string();
        return (!agree).then(|| "the token has other scopes".to_owned());
    }
    if !again.whole {
        return Some("it broke off".to_owned());
    }
    if reply.media != again.media {
        return Some("another content type".to_owned());
    }
    (reply.body != again.body).then(|| "another body".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(status: u16, media: &str, body: &'static str) -> Reply {
        Reply { status, media: Some(media.to_owned()), body: body.into(), whole: true }
    }

    #[test]
    fn a_secret_in_any_file_below_the_folder_is_found() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("deep")).unwrap();
        fs::write(folder.path().join("clean"), "nothing here").unwrap();
        let file = folder.path().join("deep/dirty");
        fs::write(&file, "\x00 the hidden word").unwrap();
        assert_eq!(exposed(folder.path(), &["hidden".to_owned()]).unwrap(), Some(file));
        assert_eq!(exposed(folder.path(), &["absent".to_owned()]).unwrap(), None);
    }

    #[test]
    fn an_answer_that_differs_in_anything_is_a_surprise() {
        let acts = script::acts();
        let step = acts[0].steps.iter().find(|step| step.asks_token.is_none()).unwrap();
        let live = reply(200, "application/json", "{}");
        assert_eq!(difference(step, &live, &live), None);
        for other in
            [reply(201, "application/json", "{}"), reply(200, "text/html", "{}"), reply(200, "application/json", "{ }")]
        {
            assert!(difference(step, &live, &other).is_some(), "{other:?}");
        }
    }

    #[test]
    fn a_replayed_token_is_another_one_with_the_same_scopes() {
        let acts = script::acts();
        let step = acts[0].steps.iter().find(|step| step.asks_token.is_some()).unwrap();
        let token = |body| reply(200, "application/json", body);
        let live = token(r#"{"access_token": "a", "scope": "x y"}"#);
        assert_eq!(difference(step, &live, &token(r#"{"access_token": "b", "scope": "x y"}"#)), None);
        assert!(difference(step, &live, &token(r#"{"access_token": "b", "scope": "x"}"#)).is_some());
        assert!(difference(step, &live, &token(r#"{"scope": "x y"}"#)).is_some());
    }
}
