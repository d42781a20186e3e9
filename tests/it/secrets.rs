//! `contrail scan` finds secrets without showing them; `contrail redact` removes them and keeps the rest.

use std::{fs, path::Path};

use base64::{Engine as _, prelude::BASE64_STANDARD};

use crate::support::command::{contrail, run, run_in, run_with_input};
use crate::support::golden::{assert_error, assert_line, assert_output};

/// A browser's export with a secret in eleven places and members of its own.
pub const EXPORT: &str = r#"{"log":{"version":"1.2","creator":{"name":"WebInspector","version":"537.36"},"pages":[],
 "entries":[{"_priority":"High","startedDateTime":"2026-11-21T08:00:00.000Z","time":1.250,
  "request":{"method":"POST","url":"https://tenant.example/oauth/token/?code=SplxlOBeZQQYbYS6WxSbIA","httpVersion":"HTTP/2",
   "headers":[{"name":"cookie","value":"sid=c00kie-5ecret-value"},{"name":"x-api-key","value":"key-5ecret-value"}],
   "queryString":[{"name":"code","value":"SplxlOBeZQQYbYS6WxSbIA"}],"cookies":[{"name":"sid","value":"c00kie-5ecret-value"}],
   "postData":{"mimeType":"application/json","text":"{\"client_secret\":\"cl1ent-5ecret\/value\",\"n\":1.0}"},"bodySize":49,"headersSize":-1},
  "response":{"status":401,"statusText":"","httpVersion":"HTTP/2","headers":[{"name":"location","value":"/cb?access_token=t0ken%2D5ecret"}],
   "cookies":[],"content":{"size":60,"mimeType":"text/plain","text":"bad secret cl1ent-5ecret/value (Y2wxZW50LTVlY3JldC92YWx1ZQ==)"},
   "redirectURL":"/cb?access_token=t0ken%2D5ecret","headersSize":-1,"bodySize":-1},"cache":{},"timings":{"send":0,"wait":1,"receive":0}}]}}"#;

const SECRETS: [&str; 7] = [
    "SplxlOBeZQQYbYS6WxSbIA",
    "c00kie-5ecret-value",
    "key-5ecret-value",
    "cl1ent-5ecret/value",
    "cl1ent-5ecret\\/value",
    "Y2wxZW50LTVlY3JldC92YWx1ZQ",
    "t0ken%2D5ecret",
];

/// The text holds none of the secrets of [`EXPORT`].
pub fn shows_none(text: &str) {
    for secret in SECRETS {
        assert!(!text.contains(secret), "{secret} is in {text}");
    }
}

fn write(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn scan_names_place_and_kind_of_every_secret_and_shows_none() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.har", EXPORT);
    write(folder.path(), "note.txt", "one\nthe client says cl1ent-5ecret/value\n");
    let ran = run_in(folder.path(), ["scan", "a.har", "note.txt"]);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    shows_none(&(ran.stdout.clone() + &ran.stderr));
    for place in [
        "a.har: /log/entries/0/request/url: code (!code-1!)",
        "a.har: /log/entries/0/request/headers/0/value: cookie (!cookie-4!)",
        "a.har: /log/entries/0/request/postData/text: client-secret (!client-secret-3!)",
        "a.har: /log/entries/0/response/content/text: client-secret (!client-secret-3!)",
        "a.har: /log/entries/0/response/redirectURL: token (!token-2!)",
        "note.txt:2: client-secret (!client-secret-3!)",
    ] {
        assert_line(&ran.stdout, place);
    }
    assert_output("secrets/scan_names_place_and_kind_of_every_secret_and_shows_none", &ran);
}

#[test]
fn scan_counts_the_files_that_hold_secrets_and_not_those_that_it_can_search() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "cut.har", &EXPORT[..EXPORT.len() / 2]);
    write(folder.path(), "a.har", EXPORT);
    write(folder.path(), "note.txt", "nothing of the kind\n");
    let found = |files: &[&str]| {
        let ran = run_in(folder.path(), ["scan"].iter().chain(files));
        let not_searched = "contrail: `cut.har` was not searched: it is a recording with a syntax error at byte 552\n";
        (ran.status, ran.stderr.replace(not_searched, ""))
    };
    assert_eq!(found(&["cut.har"]), (2, "4 secrets in 5 places of 1 file\n".to_owned()));
    assert_eq!(found(&["cut.har", "note.txt"]), (2, "4 secrets in 5 places of 1 file\n".to_owned()));
    assert_eq!(found(&["cut.har", "a.har", "note.txt"]), (2, "6 secrets in 15 places of 2 files\n".to_owned()));
    let advised = "5 secrets in 10 places of 1 file; `contrail redact` removes them\n";
    assert_eq!(found(&["a.har", "note.txt"]), (1, advised.to_owned()));
}

#[test]
fn scan_gives_json_and_looks_for_values_of_the_environment() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "a.journal", "{\"x\":1}\n{\"x\":\"from-the-%65nvironment\"}\n");
    let output = contrail()
        .args(["scan", "--env", "SCAN_ME", "--format", "json", &path])
        .env("SCAN_ME", "from-the-environment")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["summary"], serde_json::json!({"files": 1, "hits": 1}));
    assert_eq!(said["hits"][0]["line"], 2);
    assert_eq!(said["hits"][0]["at"], "/x");
    assert_eq!(said["hits"][0]["kind"], "custom");
    assert!(!String::from_utf8_lossy(&output.stdout).contains("nvironment"));
}

#[test]
fn scan_finds_a_value_of_the_environment_in_every_coding_of_its_own() {
    let value = "S3cr/et+of~the?environment";
    let each = |form: fn(u8) -> String| value.bytes().map(form).collect::<Vec<_>>().concat();
    let hex = each(|byte| format!("{byte:02x}"));
    let escaped = each(|byte| format!("\\u{byte:04X}"));
    let percent = each(|byte| format!("%{byte:02x}"));
    let base64 = |before: &str| BASE64_STANDARD.encode(format!("{before}{value}"));
    let forms = [
        value.to_owned(),
        value.replace('/', "\\/"),
        hex.to_uppercase(),
        hex,
        escaped,
        percent.replace('%', "%25"),
        percent,
        base64(""),
        base64("a"),
        base64("ab"),
        base64("").trim_end_matches('=').replace('+', "-").replace('/', "_"),
        base64("ab").replace('=', "%3D"),
    ];
    let folder = tempfile::tempdir().unwrap();
    let scan = |text: &str| {
        let path = write(folder.path(), "a.txt", &format!("{{\"note\":\"<{text}>\"}}\n"));
        let output = contrail().args(["scan", "--env", "SCAN_ME", &path]).env("SCAN_ME", value).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).contains(text))
    };
    for form in forms {
        assert_eq!(scan(&form), (Some(1), false), "{form}");
    }
    assert_eq!(scan("S3cr/et+of~the?environ").0, Some(0));
}

#[test]
fn scan_is_clean_on_what_holds_no_secret_and_states_what_it_cannot_do() {
    let folder = tempfile::tempdir().unwrap();
    let clean =
        write(folder.path(), "a.json", r#"{"id":"con_1","token_type":"Bearer","client_secret":"!client-secret-1!"}"#);
    assert_eq!(run(["scan", &clean]).status, 0);
    assert_eq!(run_with_input(["scan", "-"], b"nothing of the kind\n").status, 0);
    let missing = run(["scan", "no-such-file"]);
    assert_eq!((missing.status, missing.stdout.as_str()), (2, ""));
    assert_output("secrets/scan_is_clean_on_what_holds_no_secret_and_states_what_it_cannot_do", &missing);
    let unset = run(["scan", "--env", "CERTAINLY_NOT_SET", &clean]);
    assert_eq!(unset.status, 2);
    assert_output("secrets/scan_is_clean_on_what_holds_no_secret_and_states_what_it_cannot_do-2", &unset);
}

#[test]
fn redact_takes_the_secrets_out_and_keeps_every_other_byte() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "a.har", EXPORT);
    let checked = run(["redact", "--check", &path]);
    assert_eq!((checked.status, checked.stdout.as_str()), (1, ""));
    assert_eq!(fs::read_to_string(&path).unwrap(), EXPORT);

    let ran = run(["redact", &path]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    shows_none(&(ran.stdout.clone() + &ran.stderr));
    let (before, after): (serde_json::Value, serde_json::Value) =
        (serde_json::from_str(EXPORT).unwrap(), serde_json::from_str(&ran.stdout).unwrap());
    let entry = &after["log"]["entries"][0];
    assert_eq!(entry["_priority"], before["log"]["entries"][0]["_priority"]);
    assert_eq!(entry["time"].to_string(), "1.250");
    let text = entry["request"]["postData"]["text"].as_str().unwrap();
    assert!(text.starts_with("{\"client_secret\":\"!client-secret-") && text.ends_with("!\",\"n\":1.0}"), "{text}");
    assert_eq!(entry["request"]["bodySize"], text.len());
    let said = entry["response"]["content"]["text"].as_str().unwrap();
    assert_eq!(entry["response"]["content"]["size"], said.len());

    let in_place = run(["redact", "--in-place", &path]);
    assert_eq!(in_place.status, 0, "{}", in_place.stderr);
    assert_eq!(fs::read_to_string(&path).unwrap(), ran.stdout);
    assert_eq!(run(["redact", "--check", &path]).status, 0);
    assert_eq!(run(["scan", &path]).status, 0);
}

#[test]
fn redact_cleans_a_folder_with_its_body_files() {
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("rec");
    fs::create_dir(&recording).unwrap();
    write(
        &recording,
        "rec.har",
        &EXPORT.replace(
            "\"text\":\"bad secret cl1ent-5ecret/value (Y2wxZW50LTVlY3JldC92YWx1ZQ==)\"",
            "\"_file\":\"body.txt\"",
        ),
    );
    write(&recording, "body.txt", "bad secret cl1ent-5ecret/value");
    let out = folder.path().join("clean");
    let ran = run(["redact", recording.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    shows_none(&fs::read_to_string(out.join("rec.har")).unwrap());
    let body = fs::read_to_string(out.join("body.txt")).unwrap();
    assert!(body.starts_with("bad secret !client-secret-"), "{body}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(fs::metadata(out.join("body.txt")).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn redact_wants_to_know_where_several_files_go() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (write(folder.path(), "1.har", EXPORT), write(folder.path(), "2.har", EXPORT));
    let ran = run(["redact", &one, &two]);
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
    assert_output("secrets/redact_wants_to_know_where_several_files_go", &ran);
    let wrong = run(["redact", "--redact", "nonsense", &one]);
    assert_eq!(wrong.status, 2);
    assert_output("secrets/redact_wants_to_know_where_several_files_go-2", &wrong);
}

#[test]
fn files_and_folders_behind_symbolic_links_are_searched_and_redacted_with_the_others() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("d")).unwrap();
    fs::create_dir_all(at("far")).unwrap();
    write(folder.path(), "real.har", EXPORT);
    write(folder.path(), "far/b.har", EXPORT);
    symlink("../real.har", at("d/a.har")).unwrap();
    symlink("../far", at("d/far")).unwrap();
    symlink("..", at("d/back")).unwrap();
    symlink("nowhere", at("d/c.har")).unwrap();
    let ran = run_in(folder.path(), ["scan", "d"]);
    assert_error(&ran, 1, "5 secrets in 20 places of 2 files; `contrail redact` removes them");
    assert_line(
        &ran.stderr,
        "contrail: `d/c.har` is a symbolic link and is not read: No such file or directory (os error 2)",
    );
    let ran = run_in(folder.path(), ["redact", "d", "--out", "o"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    for name in ["o/a.har", "o/far/b.har"] {
        shows_none(&fs::read_to_string(at(name)).unwrap());
    }
    let ran = run_in(folder.path(), ["redact", "d", "--in-place"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    for name in ["real.har", "far/b.har"] {
        shows_none(&fs::read_to_string(at(name)).unwrap());
    }
    assert!(fs::read_link(at("d/a.har")).is_ok() && fs::read_link(at("d/far")).is_ok());
}

#[test]
fn a_folder_without_any_file_is_named_and_nothing_is_claimed_of_it() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("empty/below")).unwrap();
    for arguments in [&["scan", "empty"][..], &["redact", "--check", "empty"]] {
        let ran = run_in(folder.path(), arguments);
        assert_eq!((ran.status, &*ran.stdout, &*ran.stderr), (2, "", "contrail: the folder `empty` holds no file\n"));
    }
}

#[test]
fn a_pipe_is_searched_and_redacted_as_the_file_is() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("clean.har");
    let out = out.to_str().unwrap();
    let ran = run_with_input(["scan", "/dev/stdin"], EXPORT.as_bytes());
    let by_dash = run_with_input(["scan", "-"], EXPORT.as_bytes());
    assert_eq!((ran.status, ran.stdout.lines().count()), (1, by_dash.stdout.lines().count()), "{}", ran.stderr);
    let ran = run_with_input(["redact", "/dev/stdin", "--out", out], EXPORT.as_bytes());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let clean = fs::read_to_string(out).unwrap();
    assert!(clean.contains("WebInspector") && SECRETS.iter().all(|secret| !clean.contains(secret)), "{clean}");
}
