//! The facts of a token stand once in a fixture, whatever the number of its entries.

use serde_json::json;

use super::*;
use crate::support::{
    command::{Ran, contrail},
    golden::assert_error,
    har,
};

/// Twenty requests with a token of 242 scopes, of which one had expired meanwhile, and one with another token.
fn imported(workspace: &Workspace) -> [PathBuf; 2] {
    let all: Vec<String> = (0..241).map(|number| format!("read:thing_{number}")).collect();
    let wide = format!("Bearer {}", har::token(&format!("read:rate_limit_policies {}", all.join(" ")), har::NOON + 60));
    let ask = |number: usize, bearer: &str| {
        har::get(&format!("/api/v2/rate-limit-policies/rlp_{number:02}"), Some(bearer), 200, har::POLICY)
    };
    let mut entries: Vec<Value> = (0..20).map(|number| ask(number, &wide)).collect();
    entries[7]["startedDateTime"] = "2025-11-21T13:00:00.000Z".into();
    entries.push(ask(20, &har::bearer()));
    fs::write(workspace.path("browser.har"), har::har(&entries)).unwrap();
    ["one.har", "folder"].map(|name| {
        let out = workspace.path(name);
        let from = workspace.path("browser.har");
        let ran = run(["import", from.to_str().unwrap(), "--out", out.to_str().unwrap()]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        out
    })
}

fn text_of(fixture: &Path) -> String {
    fs::read_to_string(recording::FixturePath::find(fixture).unwrap().har()).unwrap()
}

/// A fixture as it was written before: each entry with the facts of its token.
fn inlined(fixture: &Path) -> Value {
    let mut har: Value = serde_json::from_str(&text_of(fixture)).unwrap();
    let tokens = har["log"]["_contrail"].as_object_mut().unwrap().remove("tokens").unwrap();
    for entry in har["log"]["entries"].as_array_mut().unwrap() {
        let token = &mut entry["_contrail"]["token"];
        if let Some(label) = token.as_str() {
            let facts = tokens[label].clone();
            assert!(facts.is_object(), "{label}");
            *token = facts;
        }
    }
    har
}

#[test]
fn a_fixture_holds_the_scopes_of_a_token_once_and_facts_that_differ_in_their_entry() {
    let workspace = Workspace::new();
    for fixture in imported(&workspace) {
        let text = text_of(&fixture);
        // Once for the token, and once for the exchange at which it had expired.
        assert_eq!(text.matches("\"read:thing_117\"").count(), 2, "{}", fixture.display());
        let har: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(har["log"]["_contrail"]["version"], 1);
        let tokens = har["log"]["_contrail"]["tokens"].as_object().unwrap();
        assert_eq!(tokens.keys().collect::<Vec<_>>(), ["!token-1!", "!token-2!"]);
        assert_eq!(tokens["!token-1!"]["scopes"].as_array().unwrap().len(), 242);
        assert_eq!(tokens["!token-2!"]["scopes"], json!(["read:rate_limit_policies"]));
        for (at, entry) in entries(&fixture).iter().enumerate() {
            let token = &entry["_contrail"]["token"];
            match at {
                7 => assert_eq!(token["outcome"], "expired"),
                20 => assert_eq!(*token, "!token-2!"),
                _ => assert_eq!(*token, "!token-1!", "{at}"),
            }
        }
    }
}

#[test]
fn both_forms_of_a_tokens_facts_read_the_same_and_fold_to_the_same_bytes() {
    let workspace = Workspace::new();
    let [one, folder] = imported(&workspace);
    let path = |name: &str| workspace.path(name).to_str().unwrap().to_owned();
    let old = workspace.path("old.har");
    fs::write(&old, inlined(&one).to_string()).unwrap();
    for command in [&["verify", "--format", "json"][..], &["audit", "--format", "json"]] {
        let [new, old] = [&one, &old].map(|file| {
            let ran = run(command.iter().copied().chain([file.to_str().unwrap()]));
            assert!(ran.stdout.contains("read:rate_limit_policies") || command[0] == "verify", "{}", ran.stderr);
            (ran.status, ran.stdout.replace(file.to_str().unwrap(), "FILE"))
        });
        assert_eq!(new, old, "{command:?}");
    }
    let ran = run(["diff", one.to_str().unwrap(), old.to_str().unwrap()]);
    assert_eq!(ran.status, 0, "{}", ran.stdout);
    for (command, from, to, expected) in [
        ("pack", &old, "renewed.har", &one),
        ("unpack", &one, "unpacked", &folder),
        ("pack", &folder, "packed.har", &one),
    ] {
        let ran = run([command, from.to_str().unwrap(), "--out", &path(to)]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        assert_eq!(text_of(&workspace.path(to)), text_of(expected), "{command} {to}");
    }
    let credentials = |path: &Path| -> Vec<_> {
        recording::open(path)
            .unwrap()
            .map(|entry| format!("{:?}", entry.unwrap().exchange.request.credential))
            .collect()
    };
    assert_eq!(credentials(&one), credentials(&old));
    // Redaction leaves the table as it is.
    let ran = run(["redact", "--check", one.to_str().unwrap()]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
}

#[test]
fn replay_knows_the_callers_of_both_forms() {
    let workspace = Workspace::new();
    let [one, folder] = imported(&workspace);
    let old = workspace.path("old.har");
    fs::write(&old, inlined(&one).to_string()).unwrap();
    let outcomes = [one, folder, old].map(|fixture| {
        let script = "host=${CONTRAIL_URL#http://}; exec 3<>/dev/tcp/${host%:*}/${host#*:}; \
                      printf 'GET /api/v2/rate-limit-policies/rlp_03 HTTP/1.1\\r\\nHost: p\\r\\nConnection: close\\r\\n\\r\\n' >&3; \
                      cat <&3";
        let ran = run(["replay", fixture.to_str().unwrap(), "--", "bash", "-c", script]);
        assert!(ran.stdout.starts_with("HTTP/1.1 200"), "{} {}", ran.stdout, ran.stderr);
        let undated: Vec<_> = ran.stdout.lines().filter(|line| !line.starts_with("date: ")).map(str::to_owned).collect();
        (ran.status, undated)
    });
    assert_eq!(outcomes[0], outcomes[1]);
    assert_eq!(outcomes[0], outcomes[2]);
}

#[test]
fn a_token_that_the_head_does_not_list_is_refused_by_its_name() {
    let workspace = Workspace::new();
    let [one, _] = imported(&workspace);
    let mut har: Value = serde_json::from_str(&text_of(&one)).unwrap();
    har["log"]["_contrail"]["tokens"].as_object_mut().unwrap().remove("!token-1!");
    fs::write(&one, har.to_string()).unwrap();
    let ran = run(["verify", one.to_str().unwrap()]);
    let listed = "its token `!token-1!` is not in `log._contrail.tokens`;";
    let file = format!("contrail: `FOLDER/one.har`, entry 0: {listed} restore the file from a copy");
    assert_error(&ran, 2, &file);
    let mut verify = contrail();
    let ran = Ran::from(verify.args(["verify", "-"]).stdin(fs::File::open(&one).unwrap()).output().unwrap());
    let stream = format!("contrail: `standard input`, entry 0: {listed} restore the file from a copy");
    assert_error(&ran, 2, &stream);
    let journal = workspace.path("one.journal");
    fs::write(&journal, format!("{}\n", har["log"]["entries"][0])).unwrap();
    let line = "line 1: its token is the label `!token-1!`, which only a HAR file explains; name the file that the \
                entry comes from";
    let ran = run(["verify", journal.to_str().unwrap()]);
    assert!(ran.status == 2 && ran.stderr.contains(line), "{ran:?}");
    har["log"]["_contrail"]["tokens"] = json!(["!token-1!"]);
    fs::write(&one, har.to_string()).unwrap();
    let ran = run(["verify", one.to_str().unwrap()]);
    assert_error(
        &ran,
        2,
        "contrail: `FOLDER/one.har`: `log._contrail.tokens` cannot be read; restore the file from a copy",
    );
}
