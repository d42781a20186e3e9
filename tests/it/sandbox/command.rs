//! `contrail sandbox` as scripts and people run it.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Child, Stdio},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;

use crate::support::command::{contrail, run};
use crate::support::golden::{assert_line, assert_output, masked};

/// A running command; ended when the test ends, however it ends.
pub(super) struct Running(Child);

impl Running {
    pub(super) fn start(arguments: &[&str]) -> Self {
        let mut command = contrail();
        command.arg("sandbox").args(["--listen", "127.0.0.1:0"]).args(arguments);
        Self(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    pub(super) fn stdout_line(&mut self) -> String {
        let mut line = String::new();
        BufReader::new(self.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        line
    }

    fn end(mut self, signal: Signal) -> (Option<i32>, String) {
        kill(Pid::from_raw(self.0.id().try_into().unwrap()), signal).unwrap();
        let status = self.0.wait().unwrap().code();
        let mut stderr = String::new();
        self.0.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        (status, stderr)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(super) fn ask(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn the_json_line_is_enough_for_a_script_to_use_the_tenant() {
    let mut running = Running::start(&["--format", "json"]);
    let told: Value = serde_json::from_str(&running.stdout_line()).unwrap();
    let address = told["url"].as_str().unwrap().strip_prefix("http://").unwrap().to_owned();
    let client = &told["clients"][0];
    let form = format!(
        "grant_type=client_credentials&client_id={}&client_secret={}&audience=/api/v2/",
        client["id"].as_str().unwrap(),
        client["secret"].as_str().unwrap()
    );
    let answer = ask(
        &address,
        &format!(
            "POST /oauth/token/ HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: {}\r\n\
             content-type: application/x-www-form-urlencoded\r\n\r\n{form}",
            form.len()
        ),
    );
    let token: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
    let token = token["access_token"].as_str().unwrap();
    let id = |kind: &str| told[kind].as_str().unwrap_or_else(|| panic!("no {kind} in {told}")).to_owned();
    let operations = [
        ("GET", format!("/rate-limit-policies/{}", id("rate_limit_policy")), "", 200),
        ("GET", "/connection-profiles/templates".to_owned(), "", 200),
        ("GET", format!("/connections/{}/directory-provisioning/synchronized-groups", id("connection")), "", 200),
        ("POST", format!("/event-streams/{}/redeliver/{}", id("event_stream"), id("event")), "", 202),
        (
            "PATCH",
            format!("/verifiable-credentials/verification/templates/{}", id("verifiable_credential_template")),
            "{}",
            200,
        ),
        ("POST", format!("/actions/actions/{}/test", id("action")), "{}", 200),
    ];
    for (method, path, body, status) in operations {
        let answer = ask(
            &address,
            &format!(
                "{method} /api/v2{path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
                 authorization: Bearer {token}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            ),
        );
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{method} {path}: {answer}");
        if path == "/connection-profiles/templates" {
            assert!(answer.contains(&id("connection_profile_template")), "{answer}");
        }
    }
    let lacks = |client: &Value| !client["scopes"].as_array().unwrap().contains(&"read:rate_limit_policies".into());
    assert!(told["clients"].as_array().unwrap().iter().any(lacks));
    let (status, stderr) = running.end(Signal::SIGTERM);
    let listening: Value = serde_json::from_str(&stderr).expect("one JSON object");
    let url = format!("http://{address}");
    let expected = serde_json::json!({"listening": url, "message": format!("listening on {url}")});
    assert_eq!((status, listening), (Some(0), expected));
}

#[test]
fn the_text_shows_a_curl_line_that_works_as_it_stands() {
    let mut running = Running::start(&[]);
    let mut out = BufReader::new(running.0.stdout.take().unwrap()).lines().map(Result::unwrap);
    let line = out.find(|line| line.trim_start().starts_with("curl ")).unwrap();
    // The words of the line, as a shell reads them; run where there is no curl as well as where there is one.
    let address = line.rsplit_once("http://").unwrap().1.split_once('/').unwrap().0;
    let secret = line.split_once("client_secret=").unwrap().1.split(['&', '"', '\'', ' ']).next().unwrap();
    assert_eq!(
        masked(&line.replace(secret, "SECRET")),
        r#"  curl -H "Authorization: Bearer $(curl -s http://127.0.0.1:PORT/oauth/token/ -d grant_type=client_credentials -d client_id=sandbox-full -d client_secret=SECRET -d audience=/api/v2/ | sed 's/.*"access_token":"\([^"]*\)".*/\1/')" http://127.0.0.1:PORT/api/v2/rate-limit-policies/rlp_Default000000000000000"#
    );
    if let Ok(output) = std::process::Command::new("sh").args(["-c", &format!("command -v curl && {line}")]).output()
        && !output.stdout.is_empty()
    {
        let said = String::from_utf8(output.stdout).unwrap();
        assert_line(
            &said,
            "{\"id\":\"rlp_Default000000000000000\",\"resource\":\"oauth_authentication_api\",\"consumer\":\"client\",\"consumer_selector\":\"default\",\"configuration\":{\"action\":\"allow\"},\"created_at\":\"INSTANT\",\"updated_at\":\"INSTANT\"}",
        );
    }
    assert_eq!(running.end(Signal::SIGINT), (Some(0), format!("listening on http://{address}\n")));
}

#[test]
fn a_printed_seed_can_be_loaded_again() {
    let printed = run(["sandbox", "--print-seed"]);
    assert_eq!((printed.status, printed.stderr.as_str()), (0, ""));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("seed.json");
    std::fs::write(&file, printed.stdout.replace("rlp_Default000000000000000", "rlp_Mine")).unwrap();
    let mut running = Running::start(&["--format", "json", "--seed", file.to_str().unwrap()]);
    let told: Value = serde_json::from_str(&running.stdout_line()).unwrap();
    assert_eq!(told["rate_limit_policy"], "rlp_Mine");
}

#[test]
fn a_seed_that_is_none_is_status_2_with_file_and_place() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("seed.json");
    std::fs::write(&file, "{\"tenant\": 7}").unwrap();
    for (file, needed) in [
        (
            file,
            "contrail: `FOLDER/seed.json` is not a seed for the sandbox (`--print-seed` shows one that is): invalid \
             type: integer `7`, expected a string at line 1 column 12",
        ),
        (
            folder.path().join("absent.json"),
            "contrail: cannot read the seed `FOLDER/absent.json`: No such file or directory (os error 2)",
        ),
    ] {
        let ran = run(["sandbox", "--listen", "127.0.0.1:0", "--seed", file.to_str().unwrap()]);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
        assert_line(&ran.stderr, needed);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    }
}

#[test]
fn a_rule_that_only_clients_break_is_a_usage_error() {
    for rule in ["auth.missing", "query.parameter", "request.body", "no.such.rule", "response.body=2"] {
        let ran = run(["sandbox", "--listen", "127.0.0.1:0", "--misbehave", rule]);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{rule}");
    }
    let ran = run(["sandbox", "--misbehave", "auth.missing"]);
    assert_output("sandbox/command/a_rule_that_only_clients_break_is_a_usage_error", &ran);
}

#[test]
fn a_taken_port_is_status_2_and_the_message_gives_advice() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let ran = run(["sandbox", "--listen", &taken.local_addr().unwrap().to_string()]);
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
    assert_line(
        &ran.stderr,
        "contrail: cannot listen on 127.0.0.1:PORT (Address already in use (os error 98)); name another address with \
         --listen, port 0 takes a free one",
    );
    assert!(ran.stderr.lines().count() == 1, "{}", ran.stderr);
}

#[test]
fn every_choice_names_its_operation_and_section() {
    let ran = run(["sandbox", "--explain", "--format", "json"]);
    let choices: Vec<Value> = serde_json::from_str(&ran.stdout).unwrap();
    let known = [
        "all",
        "getRateLimitPolicy",
        "getConnectionProfileTemplates",
        "getSynchronizedGroups",
        "redeliverEvent",
        "updateVerifiableCredentialTemplate",
        "testAction",
        "requestToken",
    ];
    for choice in &choices {
        assert!(known.contains(&choice["operation"].as_str().unwrap()), "{choice}");
        for member in ["aspect", "section", "choice"] {
            assert!(!choice[member].as_str().unwrap().is_empty(), "{choice}");
        }
    }
    let text = run(["sandbox", "--explain"]).stdout;
    assert!(choices.iter().all(|choice| text.contains(choice["choice"].as_str().unwrap())));
}

#[test]
fn a_secret_of_the_seed_is_never_printed() {
    let folder = tempfile::tempdir().unwrap();
    let mut seed: Value = serde_json::from_str(&run(["sandbox", "--print-seed"]).stdout).unwrap();
    seed["clients"][0]["secret"] = "s33ded-s3cr3t-0123".into();
    let path = folder.path().join("seed.json");
    std::fs::write(&path, seed.to_string()).unwrap();
    for (format, last) in [("text", "contrail sandbox --explain"), ("json", "sandbox-full")] {
        let mut running = Running::start(&["--format", format, "--seed", path.to_str().unwrap()]);
        let mut printed = String::new();
        let mut stdout = BufReader::new(running.0.stdout.as_mut().unwrap());
        while !printed.contains(last) {
            assert_ne!(stdout.read_line(&mut printed).unwrap(), 0, "{printed}");
        }
        assert!(printed.contains("sandbox-full"), "{printed}");
        assert!(!printed.contains("s33ded"), "{printed}");
    }
}
