//! `contrail import`: other tools' recordings become fixtures that verify as before, without their secrets.

use std::{fs, path::Path};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::command::run;
use crate::support::golden::{assert_error, assert_line, assert_output};
use crate::support::har;

fn data(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/har").join(name).to_str().unwrap().to_owned()
}

/// Operation, status, findings and what was unchecked, of each exchange under the contract; in no order.
fn verdicts(file: &str) -> Vec<String> {
    let ran = run(["verify", file, "--format", "json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stderr));
    let mut verdicts: Vec<String> = report["exchanges"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|exchange| exchange["url"].as_str().unwrap().starts_with("https://tenant.example/"))
        .map(|exchange| {
            let found: Vec<String> = exchange["findings"]
                .as_array()
                .unwrap()
                .iter()
                .map(|finding| format!("{} {}", finding["rule"], finding["at"]))
                .collect();
            let unchecked = &exchange["unchecked"];
            format!("{} {} {} {unchecked}", exchange["operation"], exchange["status"], found.join(", "))
        })
        .collect();
    verdicts.sort();
    verdicts
}

#[test]
fn what_every_producer_recorded_verifies_in_the_fixture_as_it_did_in_the_file() {
    let folder = TempDir::new().unwrap();
    let names = ["chrome", "firefox", "safari", "charles", "fiddler", "mitmproxy", "playwright-embedded", "secrets"];
    for name in names {
        let file = data(&format!("{name}.har"));
        for to in [folder.path().join(name), folder.path().join(format!("{name}.har"))] {
            let out = to.to_str().unwrap();
            let ran = run(["import", &file, "--out", out, "--keep"]);
            assert_eq!((ran.status, &*ran.stdout), (0, ""), "{name}: {}", ran.stderr);
            assert_eq!(verdicts(out), verdicts(&file), "{name}");
        }
    }
}

#[test]
fn a_browsers_export_loses_other_sites_and_its_authentication_stays_unchecked() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("x.har");
    let ran = run(["import", &data("chrome.har"), "--out", out.to_str().unwrap()]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_output("importing/a_browsers_export_loses_other_sites_and_its_authentication_stays_unchecked", &ran);
    let text = fs::read_to_string(&out).unwrap();
    assert!(!text.contains("cdn.example") && !text.contains("shop.example"));
    let ran = run(["verify", out.to_str().unwrap(), "--format", "json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    for exchange in report["exchanges"].as_array().unwrap() {
        let unchecked = exchange["unchecked"].as_array().unwrap();
        assert!(exchange["operation"].is_null() || unchecked.contains(&"auth".into()), "{exchange}");
    }
}

#[test]
fn no_secret_of_the_file_is_in_the_fixture() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("x.har");
    let ran = run(["import", &data("secrets.har"), "--out", out.to_str().unwrap()]);
    assert_output("importing/no_secret_of_the_file_is_in_the_fixture", &ran);
    let text = fs::read_to_string(&out).unwrap();
    assert!(fs::read_to_string(data("secrets.har")).unwrap().contains("s3cr3t"));
    assert!(!text.contains("s3cr3t"), "{text}");
    assert_eq!(run(["scan", out.to_str().unwrap()]).status, 0);
}

#[test]
fn a_file_that_cannot_be_imported_is_refused_in_one_line_with_status_2() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("none.har"), r#"{"log":{"entries":[]}}"#).unwrap();
    fs::write(path("there.har"), "x").unwrap();
    for (arguments, expected) in [
        (
            vec![path("none.har"), "--out".into(), path("new.har")],
            "contrail: the recordings hold no exchange with a path of the contract; name the tenant's origin with --upstream",
        ),
        (
            vec![data("chrome.har"), "--out".into(), path("there.har")],
            "contrail: FOLDER/there.har exists already; --append adds to it, --overwrite replaces it",
        ),
        (
            vec!["-".into(), "--out".into(), path("new.har")],
            "contrail: a recording is read more than once, and standard input comes only once; name a file",
        ),
        (
            vec![data("chrome.har"), "--out".into(), path("new.har"), "--upstream".into(), "https://a/b".into()],
            "contrail: --upstream https://a/b: write the tenant's origin, https://host, without a path",
        ),
    ] {
        let ran = run([vec!["import".to_owned()], arguments].concat());
        assert_eq!((ran.status, ran.stderr.lines().count()), (2, 1), "{}", ran.stderr);
        assert_line(&ran.stderr, expected);
    }
    assert!(!folder.path().join("new.har").exists());
}

#[test]
fn entries_without_their_response_bodies_are_counted_and_the_first_of_them_named() {
    let folder = tempfile::tempdir().unwrap();
    let export = folder.path().join("export.har");
    let entry = |nth: usize| {
        format!(
            r#"{{"request":{{"method":"GET","url":"https://t.example/api/v2/rate-limit-policies/rlp_{nth}","headers":[]}},"response":{{"status":200,"headers":[],"content":{{"size":20,"mimeType":"application/json"}}}}}}"#
        )
    };
    let entries: Vec<String> = (0..7).map(entry).collect();
    fs::write(&export, format!(r#"{{"log":{{"version":"1.2","entries":[{}]}}}}"#, entries.join(","))).unwrap();
    let ran = run(["import", export.to_str().unwrap(), "--out", folder.path().join("fx").to_str().unwrap()]);
    let name = export.display();
    let named: Vec<String> = (0..5).map(|index| format!("`{name}` entry {index}")).collect();
    let said = format!(
        "7 entries lack their response bodies in the file, and replay never serves such an entry: {} and 2 more; \
         export the file with content",
        named.join(", ")
    );
    assert_error(&ran, 0, &said);
}

#[test]
fn a_file_without_a_lasting_answer_leaves_the_fixture_as_it_was_with_status_2() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (export, other) = (path("export.har"), "https://other.example");
    let write = |status: u16| {
        let entry = format!(
            r#"{{"request":{{"method":"GET","url":"https://t.example/api/v2/rate-limit-policies/rlp_1","headers":[]}},"response":{{"status":{status},"headers":[],"content":{{"size":2,"mimeType":"application/json","text":"{{}}"}}}}}}"#
        );
        fs::write(&export, format!(r#"{{"log":{{"version":"1.2","entries":[{entry},{entry}]}}}}"#)).unwrap();
    };
    for (out, har) in [(path("fx"), path("fx/fx.har")), (path("fx.har"), path("fx.har"))] {
        for (status, options, cause) in [
            (429, &[][..], "only transient answers (429 × 2), which --keep keeps"),
            (0, &[], "2 exchanges without an answer"),
            (200, &["--upstream", other], "exchanges with other sites (https://t.example 2)"),
        ] {
            let import = |more: &[&str]| {
                let all = [&["import", &export, "--out", &out], options, more].concat();
                let ran = run(all);
                assert_eq!(ran.status, 2, "{}", ran.stderr);
                ran.stderr
            };
            write(status);
            let said = format!("contrail: nothing imported: the recording holds {cause}; {out}");
            assert_eq!(import(&[]), format!("{said} was not made\n"));
            assert!(!Path::new(&out).exists());
            write(200);
            assert_eq!(run(["import", &export, "--out", &out]).status, 0);
            let before = fs::read(&har).unwrap();
            write(status);
            for more in ["--overwrite", "--append"] {
                assert_eq!(import(&[more]), format!("{said} is unchanged\n"));
                assert_eq!(fs::read(&har).unwrap(), before);
            }
            if Path::new(&out).is_dir() { fs::remove_dir_all(&out).unwrap() } else { fs::remove_file(&out).unwrap() }
        }
    }
}

#[test]
fn a_tools_message_about_a_failure_loses_its_secrets_before_it_is_cut_and_on_the_console_too() {
    let folder = TempDir::new().unwrap();
    let token = har::token("read:x", har::NOON);
    let failures = [
        (
            "_failureText",
            format!("connect to https://user:Pr0xyPassw0rd77@proxy.example failed, {}", "for long ".repeat(30)),
        ),
        ("_error", format!("{}token {token} was in it", "x".repeat(188))),
    ];
    let mut entries = vec![har::conforming()];
    for (member, text) in &failures {
        let mut failed = har::get(&format!("/api/v2/connection-profiles/templates?x={member}"), None, 0, "");
        failed["response"][member] = text.as_str().into();
        entries.push(failed);
    }
    let file = folder.path().join("pw.har");
    fs::write(&file, har::har(&entries)).unwrap();
    let (file, out) = (file.to_str().unwrap(), folder.path().join("fx.har"));
    let imported = run(["import", file, "--out", out.to_str().unwrap(), "--keep"]);
    assert_eq!(imported.status, 0, "{}", imported.stderr);
    let json = run(["verify", file, "--format", "json"]);
    let replayed = run(["replay", file, "--", "true"]);
    let listed = run(["replay", file, "--format", "json", "--", "true"]);
    let fixture = fs::read_to_string(&out).unwrap();
    assert!(fixture.contains("connect to https://user:!"), "{fixture}");
    assert_line(
        &replayed.stderr,
        "1 recorded exchange cannot be served: the recorded exchange is incomplete: connect to \
         https://user:!password-2!@proxy.example failed, for long for long for long for long for long for long for \
         long for long for long for long for long for long for long for long for long for lo",
    );
    for text in [&fixture, &imported.stderr, &json.stdout, &replayed.stderr, &listed.stderr] {
        for secret in ["Pr0xyPassw0rd77", &token[..8]] {
            assert!(!text.contains(secret), "{secret} is in {text}");
        }
        assert!(!text.contains(&"for long ".repeat(25)), "{text}");
    }
}
