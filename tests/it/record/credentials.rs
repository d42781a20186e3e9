//! `--upstream sandbox -- CMD`: the command is given a client's credentials, and nothing that is kept holds them.

use std::{fs, path::Path};

use crate::support::{
    command::run_in,
    golden::{assert_error, assert_line},
};

/// A client that asks for a token with what it finds in its environment, and sends its secret where no field tells it.
const CLIENT: &str = r#"
echo "$CONTRAIL_SANDBOX_CLIENT_ID" > id; echo "$CONTRAIL_SANDBOX_CLIENT_SECRET" > secret
printf 'grant_type=client_credentials&client_id=%s&client_secret=%s&audience=/api/v2/' "$(cat id)" "$(cat secret)" > form
exec 3<>"/dev/tcp/${CONTRAIL_URL#http://}"
"#;

fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let items = fs::read_dir(folder).unwrap().map(|item| item.unwrap().path());
    items.map(|path| (path.display().to_string(), fs::read(&path).unwrap())).collect()
}

fn ask() -> String {
    let host = "${CONTRAIL_URL#http://}";
    format!(
        "{}\nsend() {{ exec 3<>\"/dev/tcp/${{H%:*}}/${{H#*:}}\"; printf \"$@\" >&3; cat <&3; exec 3<&-; }}\nH={host}\n\
         send 'GET /api/v2/connection-profiles/templates?x=%s HTTP/1.1\\r\\nHost: a\\r\\nConnection: close\\r\\n\\r\\n' \"$(cat secret)\" > early\n\
         send 'POST /oauth/token/ HTTP/1.1\\r\\nHost: a\\r\\nConnection: close\\r\\nContent-Type: application/x-www-form-urlencoded\\r\\nContent-Length: %d\\r\\n\\r\\n%s' \"$(wc -c < form)\" \"$(cat form)\" > token\n\
         grep -q access_token token\n",
        CLIENT.lines().filter(|line| !line.starts_with("exec")).collect::<Vec<_>>().join("\n")
    )
}

#[test]
fn a_command_gets_credentials_that_work_and_they_never_reach_the_fixture_or_the_console() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["record", "--upstream", "sandbox", "--out", "kept", "--ca-dir", "ca", "--", "bash", "-c"];
    let ran = run_in(folder.path(), arguments.iter().copied().chain([&*ask()]));
    let secret = fs::read_to_string(folder.path().join("secret")).unwrap().trim().to_owned();
    // A 401 for the request without a token is no violation of the tenant's; the client's `auth.missing` is one.
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert!(secret.len() > 20, "{secret:?}");
    assert_eq!(fs::read_to_string(folder.path().join("id")).unwrap().trim(), "sandbox-full");
    assert!(!ran.stderr.contains(&secret), "{}", ran.stderr);
    for (file, bytes) in files(&folder.path().join("kept")) {
        assert!(!String::from_utf8_lossy(&bytes).contains(&secret), "{file}");
    }
    let har = fs::read_to_string(folder.path().join("kept/kept.har")).unwrap();
    assert!(har.contains("templates?x=!client-secret-"), "{har}");
}

#[test]
fn a_secret_of_a_seed_is_never_shown() {
    let workspace = super::harness::Workspace::new();
    for options in [&["watch"][..], &["record", "--out", "kept.har"]] {
        let (command, rest) = options.split_first().unwrap();
        let running = workspace.start(command, rest);
        super::harness::get(running.address, super::harness::TEMPLATES, &super::harness::token(running.address));
        let ran = running.finish();
        assert!(!ran.stderr.contains(super::harness::SECRET), "{}", ran.stderr);
        assert_line(&ran.stderr, "sandbox client sandbox-full secret as in --seed");
    }
}

#[test]
fn a_command_gets_the_fittest_client_of_a_seed_and_a_line_states_what_that_may_not_do() {
    let client = |id: &str, more: &str| format!(r#"{{"id":"{id}","scopes":["read:a"],"secret":"0123456789"{more}}}"#);
    let slow = client("slow", r#","rate_limit":{"requests":2,"seconds":10}"#);
    let (local, dead) = (client("local", r#","global":false"#), client("dead", r#","token_lifetime":0"#));
    let add = "; add another client to `clients` in the file of --seed\n";
    for (clients, id, said) in [
        (vec![&*dead, &*local, &*slow], "slow", "sandbox client slow: it may send 2 requests in 10 s, then gets 429"),
        (vec![&*dead, &*local], "local", "sandbox client local: it is not global, so its requests get 401"),
        (vec![&*dead], "dead", "sandbox client dead: its tokens are expired when they come"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut seed: serde_json::Value =
            serde_json::from_str(&run_in(folder.path(), ["sandbox", "--print-seed"]).stdout).unwrap();
        seed["clients"] = serde_json::from_str(&format!("[{}]", clients.join(","))).unwrap();
        fs::write(folder.path().join("seed.json"), seed.to_string()).unwrap();
        let command = ["--allow", "unused", "--", "sh", "-c", "printf %s \"$CONTRAIL_SANDBOX_CLIENT_ID\" > id"];
        let ran =
            run_in(folder.path(), ["watch", "--upstream", "sandbox", "--seed", "seed.json"].into_iter().chain(command));
        assert_error(&ran, 0, &format!("{said}{add}"));
        assert_eq!(fs::read_to_string(folder.path().join("id")).unwrap(), id);
    }
}
