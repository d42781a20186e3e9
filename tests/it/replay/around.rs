//! What would pass around contrail in silence: a command without requests, hosts of `NO_PROXY`, absolute links.

use serde_json::json;

use super::{Workspace, ask, exchange, get, own, summary, text};
use crate::support::{
    command::{Ran, contrail},
    golden::{assert_line, assert_output},
    wire::{Origin, send},
};

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.write_own("own.har", &[own(get("/count", "1"), json!({}))]);
    workspace
}

fn run(workspace: &Workspace, arguments: &[&str], no_proxy: &str) -> Ran {
    let mut command = contrail();
    command.current_dir(workspace.path()).env("XDG_DATA_HOME", workspace.path().join("data"));
    command.env("NO_PROXY", no_proxy).args(arguments).output().unwrap().into()
}

#[test]
fn a_command_that_requests_nothing_fails_the_replay() {
    let workspace = workspace();
    let ran = run(&workspace, &["replay", "own.har", "--", "true"], "");
    assert_output("replay/around/a_command_that_requests_nothing_fails_the_replay", &ran);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    let ran = run(&workspace, &["replay", "own.har", "--format", "json", "--", "true"], "");
    assert!(summary(&ran)["NOTHING_REQUESTED"].as_str().unwrap().starts_with("CMD sent no request"), "{}", ran.stderr);
}

#[test]
fn a_command_that_requests_nothing_fails_the_watch() {
    let workspace = workspace();
    let ran = run(&workspace, &["watch", "--upstream", "sandbox", "--", "true"], "");
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert_line(&ran.stderr, "exit status 2: NOTHING REQUESTED");
}

#[test]
fn a_command_may_request_nothing_where_that_is_allowed_or_where_nothing_is_recorded_and_its_own_status_comes_first() {
    let workspace = workspace();
    workspace.write("empty.har", &[]);
    for (arguments, status) in [
        (&["replay", "own.har", "--allow", "unused", "--", "true"][..], 0),
        (&["replay", "empty.har", "--", "true"], 0),
        (&["watch", "--upstream", "sandbox", "--allow", "unused", "--", "true"], 0),
        (&["replay", "own.har", "--", "sh", "-c", "exit 7"], 7),
        (&["replay", "own.har", "--allow", "unused", "--deny", "unused", "--", "true"], 0),
    ] {
        let ran = run(&workspace, arguments, "");
        assert_eq!(ran.status, status, "{arguments:?}: {}", ran.stderr);
    }
    let ran = run(&workspace, &["verify", "own.har", "--allow", "unused"], "");
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("--allow unused has no effect in verify"), "{}", ran.stderr);
}

#[test]
fn in_a_replay_the_commands_no_proxy_keeps_this_machine_and_the_hosts_of_direct() {
    let workspace = workspace();
    let options = ["replay", "own.har", "--allow", "unused", "--direct", "minio"];
    let ran =
        run(&workspace, &[&options[..], &["--", "sh", "-c", "echo $NO_PROXY $no_proxy"]].concat(), ".corp,[::1],minio");
    let list = "[::1],minio,localhost,127.0.0.1,::1";
    assert_eq!(ran.stdout.trim(), format!("{list} {list}"), "{}", ran.stderr);
    assert_line(
        &ran.stderr,
        "CMD's NO_PROXY keeps this machine only; contrail dropped .corp (--direct HOST keeps one)",
    );
    let watch = ["watch", "--upstream", "sandbox", "--allow", "unused", "--", "sh", "-c", "echo $NO_PROXY"];
    assert_eq!(run(&workspace, &watch, ".corp").stdout.trim(), ".corp,localhost,127.0.0.1,::1");
}

#[test]
fn the_placeholder_in_an_answer_becomes_the_origin_that_the_client_used() {
    let mut first = get("/page", r#"{"next":"https:\/\/tenant.example\/page?cursor=2","mail":"a@tenant.example"}"#);
    first["response"]["headers"] = json!([
        {"name": "Content-Type", "value": "application/json"},
        {"name": "Link", "value": "<https://tenant.example/page?cursor=2>; rel=\"next\""},
    ]);
    let mut moved = exchange("GET", "/old", None, 302, "");
    moved["response"]["headers"] = json!([{"name": "Location", "value": "https://tenant.example/page"}]);
    let back = get("/go?to=https%3A%2F%2Ftenant.example%2Fpage", "3");
    let workspace = Workspace::new();
    workspace.write_own("own.har", &[first, moved, back].map(|entry| own(entry, json!({}))));
    let running = workspace.replay(&["own.har"]);
    let address = running.address;
    let page = ask(address, "/page");
    assert_eq!(text(&page), format!(r#"{{"next":"http:\/\/{address}\/page?cursor=2","mail":"a@tenant.example"}}"#));
    assert_eq!(page.header("link"), Some(&*format!("<http://{address}/page?cursor=2>; rel=\"next\"")));
    assert_eq!(ask(address, "/old").header("location"), Some(&*format!("http://{address}/page")));
    let named = send(address, "GET", b"GET /old HTTP/1.1\r\nHost: contrail:8080\r\n\r\n").unwrap();
    assert_eq!(named.header("location"), Some("http://contrail:8080/page"));
    let to = format!("/go?to=http%3A%2F%2F{}%2Fpage", address.to_string().replace(':', "%3A"));
    assert_eq!(text(&ask(address, &to)), "3", "what the client sends back is the placeholder again");
    assert_eq!(running.finish().status, 0);
}

#[test]
fn a_recording_counts_answers_whose_links_lead_past_contrail() {
    let workspace = workspace();
    let origin = Origin::start();
    let own = format!("http://{}", origin.address);
    for (headers, body) in [
        (format!("Location: {own}/x\r\n"), "{}".to_owned()),
        (String::new(), format!("{{\"next\":\"{own}/page?2\"}}")),
        (String::new(), format!("{{\"next\":\"{own}1/page?2\"}}")),
    ] {
        let length = body.len();
        origin.will_answer(format!("HTTP/1.1 200 OK\r\n{headers}Content-Length: {length}\r\n\r\n{body}"));
    }
    let running = crate::support::process::Running::start(
        workspace.path(),
        ["watch", "--upstream", &own, "--listen", "127.0.0.1:0", "--format", "json"],
    );
    for _ in 0..3 {
        ask(running.address, "/page");
    }
    assert_eq!(summary(&running.finish())["upstream_named"], 2);
}
