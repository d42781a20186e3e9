//! What `docs/clients.md`, `docs/operations.md` and `docs/sandbox.md` promise.

use std::fs;

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};

use super::*;
use crate::support::wire::Message;

#[test]
fn the_bundles_of_a_wrapped_command_hold_the_variables_old_file_and_contrails_authority() {
    let folder = tempfile::tempdir().unwrap();
    let page = page("clients.md");
    let is_bundle = |name: &String| {
        !name.starts_with("CONTRAIL_") && ["CA", "CERT", "ROOTS"].iter().any(|part| name.contains(part))
    };
    let bundles: Vec<String> = first_column(&page, "| variable | value |").into_iter().filter(is_bundle).collect();
    assert_eq!(bundles.len(), 12, "{bundles:?}");
    let mut command = contrail();
    command.current_dir(folder.path()).args(["watch", "--upstream", "sandbox", "--tls-listen", "127.0.0.1:0"]);
    command.args([
        "--ca-dir",
        "ca",
        "--allow",
        "unused",
        "--",
        "sh",
        "-c",
        r#"echo "$CONTRAIL_URL" > url; for n in $NAMES; do eval "cat \"\$$n\"" > "$n.seen"; done"#,
    ]);
    command.env("NAMES", bundles.join(" "));
    for name in &bundles {
        fs::write(folder.path().join(format!("{name}.old")), format!("old of {name}\n")).unwrap();
        command.env(name, folder.path().join(format!("{name}.old")));
    }
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let authorities = fs::read_dir(folder.path().join("ca")).unwrap().map(|item| item.unwrap().path().join("ca.pem"));
    let [authority] = &authorities.collect::<Vec<_>>()[..] else { panic!("several authorities") };
    let authority = fs::read_to_string(authority).unwrap();
    for name in &bundles {
        let seen = fs::read_to_string(folder.path().join(format!("{name}.seen"))).unwrap();
        // Deno reads the file that Node reads in addition.
        let old = if name == "DENO_CERT" { "NODE_EXTRA_CA_CERTS" } else { name };
        assert!(seen.contains(&format!("old of {old}\n")), "{name} lost its old file");
        assert!(seen.contains(authority.trim()), "{name} lacks contrail's authority");
    }
    let url = fs::read_to_string(folder.path().join("url")).unwrap();
    assert!(url.starts_with("https://"), "{url}");
}

fn token_request(to: &Running, client: &str, secret: &str) -> Message {
    let form = format!("grant_type=client_credentials&audience=/api/v2/&client_id={client}&client_secret={secret}");
    let media = [("content-type", "application/x-www-form-urlencoded")];
    call(to.address, "POST", "/oauth/token/", &media, form.as_bytes())
}

#[test]
fn a_replay_accepts_any_client_secret() {
    let folder = tempfile::tempdir().unwrap();
    let mut seed: Value = serde_json::from_str(contrail_sandbox::BUILT_IN_SEED).unwrap();
    seed["clients"][0]["secret"] = "the-secret-of-the-recording".into();
    let client = seed["clients"][0]["id"].as_str().unwrap().to_owned();
    fs::write(folder.path().join("seed.json"), seed.to_string()).unwrap();
    let listen = ["--listen", "127.0.0.1:0"];
    let record = ["record", "--upstream", "sandbox", "--seed", "seed.json", "--out", "f.har"];
    let running = Running::start(folder.path(), record.iter().chain(&listen));
    assert_eq!(token_request(&running, &client, "the-secret-of-the-recording").status(), 200);
    assert_eq!(token_request(&running, &client, "another").status(), 401);
    running.finish();
    let replay = Running::start(folder.path(), ["replay", "f.har"].iter().chain(&listen));
    let answer = token_request(&replay, &client, "what-no-recording-has");
    assert_eq!(answer.status(), 200);
    let token = answer.json()["access_token"].as_str().unwrap().to_owned();
    let head = BASE64_URL_SAFE_NO_PAD.decode(token.split('.').next().unwrap()).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&head).unwrap()["alg"], "ES256", "{token}");
    assert_eq!(replay.finish().status, 0);
}

#[test]
fn deny_and_allow_do_not_change_what_is_refused_under_enforce() {
    let folder = tempfile::tempdir().unwrap();
    let watch = ["watch", "--upstream", "sandbox", "--listen", "127.0.0.1:0", "--enforce", "requests"];
    let answers = |options: &[&str]| {
        let running = Running::start(folder.path(), watch.iter().chain(options));
        let of = |target: &str| call(running.address, "GET", target, &[], b"").status();
        // A violation (no token), and nothing but a gap.
        let answers = [of("/api/v2/connection-profiles/templates"), of("/api/v2/not-documented")];
        (answers, running.finish().status)
    };
    assert_eq!(answers(&[]), ([400, 404], 1));
    assert_eq!(answers(&["--allow", "auth.missing", "--deny", "gaps"]), ([400, 404], 1));
    assert_eq!(answers(&["--allow", "auth.missing"]), ([400, 404], 0));
}

#[test]
fn the_clients_of_the_sandbox_are_what_its_page_calls_them() {
    let printed = run_in(Path::new("."), ["sandbox", "--print-seed"]);
    let seed: Value = serde_json::from_str(&printed.stdout).unwrap();
    let client = |id: &str| seed["clients"].as_array().unwrap().iter().find(|client| client["id"] == id).unwrap();
    let scopes = |id: &str| -> BTreeSet<&str> {
        client(id)["scopes"].as_array().unwrap().iter().map(|scope| scope.as_str().unwrap()).collect()
    };
    let base = scopes("sandbox-throttled");
    assert_eq!(base.len(), 6, "one for each operation: {base:?}");
    assert_eq!(scopes("sandbox-expired"), base);
    assert_eq!(scopes("sandbox-local"), base);
    assert_eq!(scopes("sandbox-full").difference(&base).count(), 3);
    assert!(base.is_subset(&scopes("sandbox-full")));
    let lacks: Vec<_> = base.difference(&scopes("sandbox-narrow")).copied().collect();
    assert_eq!((lacks, scopes("sandbox-narrow").len()), (vec!["read:rate_limit_policies"], 5));
    assert_eq!(scopes("sandbox-undeclared").difference(&base).copied().collect::<Vec<_>>(), ["read:weather"]);
    assert_eq!(client("sandbox-throttled")["rate_limit"], serde_json::json!({"requests": 5, "seconds": 10}));
    assert_eq!(client("sandbox-local")["global"], false);
}
