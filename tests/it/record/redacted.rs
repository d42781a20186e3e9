//! `contrail redact` on a fixture of contrail's own: its client still replays.

use std::{fs, path::Path};

use serde_json::Value;

use super::harness::{TEMPLATES, Workspace, get, token};
use crate::support::{
    golden::{assert_error, assert_line, assert_output},
    har::body_file,
    process::Running,
    wire::call,
};

const BODY: &[u8] = br#"{"payload":{"email":"ann@example.org","note":"order 4711-XY"}}"#;
const ACTION: &str = "/api/v2/actions/actions/act_Enrich/test?order=4711-XY";

fn ask(address: std::net::SocketAddr) -> Vec<u16> {
    let headers = [("Content-Type", "application/json"), ("X-Note", "4711-XY")];
    let action = call(address, "POST", ACTION, &headers, BODY).status();
    vec![action, call(address, "GET", TEMPLATES, &headers, b"").status()]
}

fn verdicts(workspace: &Workspace, file: &str) -> Vec<String> {
    let ran = workspace.run(&["verify", file, "--format", "json"]);
    let told: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stderr));
    let rules = |exchange: &Value| {
        let findings = exchange["findings"].as_array().unwrap().iter();
        let findings: Vec<String> = findings.map(|finding| format!("{} {}", finding["rule"], finding["at"])).collect();
        format!("{} {findings:?} {}", exchange["operation"], exchange["unchecked"])
    };
    told["exchanges"].as_array().unwrap().iter().map(rules).collect()
}

#[test]
fn a_fixture_that_is_redacted_afterwards_replays_for_its_client_and_verifies_as_before() {
    for (fixture, out) in [("rec.har", "out.har"), ("rec", "out")] {
        let workspace = Workspace::new();
        let record = workspace.start("record", &["--out", fixture]);
        let live = ask(record.address);
        record.finish();
        let before = verdicts(&workspace, fixture);
        for rule in ["personal", "pointer:/payload/note", "regex:4711-[A-Z]+", "header:X-Note"] {
            let secret = if rule == "personal" { "ann@example.org" } else { "4711-XY" };
            let ran = workspace.run(&["redact", fixture, "--redact", rule, "--out", out, "--overwrite"]);
            assert_eq!(ran.status, 0, "{rule}: {}", ran.stderr);
            let scan = workspace.run(&["redact", out, "--redact", rule, "--check"]);
            assert_eq!(scan.status, 0, "{rule} leaves {secret}: {}", scan.stderr);
            let replay = Running::start(workspace.path(), ["replay", out, "--listen", "127.0.0.1:0"]);
            assert_eq!(ask(replay.address), live, "{rule} in {fixture}");
            let ran = replay.finish();
            assert_ne!(ran.status, 3, "{rule} in {fixture}: {}", ran.stderr);
            assert_eq!(verdicts(&workspace, out), before, "{rule} in {fixture}");
        }
        // Twice in place changes nothing the second time.
        assert_eq!(workspace.run(&["redact", fixture, "--redact", "personal", "--in-place"]).status, 0);
        let har = |name: &str| if name == "rec" { workspace.read("rec/rec.har") } else { workspace.read(name) };
        let once = har(fixture);
        assert!(once.contains("/payload/email"), "{once}");
        assert_eq!(workspace.run(&["redact", fixture, "--redact", "personal", "--in-place"]).status, 0);
        assert_eq!(har(fixture), once);
        let replay = Running::start(workspace.path(), ["replay", fixture, "--listen", "127.0.0.1:0"]);
        assert_eq!(ask(replay.address), live, "in place: {fixture}");
        replay.finish();
    }
}

fn text_of(folder: &Path) -> String {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|item| item.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| fs::read_to_string(file).unwrap()).collect()
}

/// A journal that a killed recording left, its last line torn.
fn killed_journal(workspace: &Workspace) -> String {
    let running = workspace.start("record", &["--out", "fx"]);
    ask(running.address);
    get(running.address, TEMPLATES, &token(running.address));
    drop(running); // which kills it
    let whole = workspace.read("fx.journal");
    fs::write(workspace.path().join("fx.journal"), format!("{whole}{{\"startedDateTime\":\"20")).unwrap();
    whole
}

#[test]
fn a_journal_and_a_trail_are_refused_and_a_fixture_that_is_packed_from_them_is_redacted() {
    let workspace = Workspace::new();
    let running = workspace.start("watch", &["--trail", "all/trail"]);
    ask(running.address);
    running.finish();
    killed_journal(&workspace);
    let segment = "all/trail/trail-00000001.journal";
    for (arguments, name, kind) in [
        (&["all/trail", "--out", "copy"][..], "all/trail", "trail"),
        (&["--in-place", "all"], "all/trail", "trail"),
        (&[segment], segment, "journal"),
        (&["--in-place", "fx.journal"], "fx.journal", "journal"),
        (&["fx.journal", "--out", "copy"], "fx.journal", "journal"),
    ] {
        let ran = workspace.run(&[&["redact", "--redact", "personal"], arguments].concat());
        let said = format!(
            "contrail: `{name}` is a {kind}, and only fixtures are redacted; make one of it with `contrail pack {name} \
             --out PACKED.har`, and redact that\n"
        );
        assert_eq!((ran.status, ran.stderr), (2, said), "{arguments:?}");
        assert!(!workspace.has("copy"));
    }
    for recording in ["all/trail", "fx.journal"] {
        let packed = workspace.run(&["pack", recording, "--out", "packed.har", "--overwrite"]);
        assert_eq!(packed.status, 0, "{}", packed.stderr);
        assert!(workspace.read("packed.har").contains("ann@example.org"));
        let ran = workspace.run(&["redact", "--in-place", "packed.har", "--redact", "personal"]);
        assert!(ran.status == 0 && !workspace.read("packed.har").contains("ann@example.org"), "{}", ran.stderr);
        let ran = workspace.run(&["scan", recording, "--redact", "personal"]);
        assert!(ran.stderr.contains("make a fixture with `contrail pack`, from which"), "{}", ran.stderr);
        // A search of it is no redaction.
        assert_eq!(workspace.run(&["redact", recording, "--redact", "personal", "--check"]).status, 1);
    }
}

#[test]
fn a_har_file_whose_own_member_cannot_be_read_is_refused() {
    let workspace = Workspace::new();
    let running = workspace.start("record", &["--out", "fx.har"]);
    get(running.address, TEMPLATES, &token(running.address));
    running.finish();
    let har = workspace.read("fx.har");
    let broken = |text: &str| {
        let at = text.find("\"operation\"").unwrap();
        let end = at + text[at..].find([',', '}']).unwrap();
        format!("{}\"operation\":5{}", &text[..at], &text[end..])
    };
    let mut foreign: Value = serde_json::from_str(&broken(&har)).unwrap();
    foreign["log"].as_object_mut().unwrap().shift_remove("_contrail");
    foreign["log"]["creator"]["name"] = "another tool".into();
    for (file, text) in [("bad.har", broken(&har)), ("foreign.har", foreign.to_string())] {
        fs::write(workspace.path().join(file), text).unwrap();
        let ran = workspace.run(&["redact", file, "--out", "out"]);
        assert_eq!(ran.status, 2, "{file}: {}", ran.stderr);
        assert!(ran.stderr.contains(": `_contrail.operation` is a number"), "{}", ran.stderr);
        assert!(!workspace.has("out"), "{file}");
    }
    assert_eq!(workspace.run(&["redact", "--check", "bad.har"]).status, 2);
    let mut unread: Value = serde_json::from_str(&har).unwrap();
    let mut unlisted = unread.clone();
    unread["log"]["_contrail"]["tokens"] = serde_json::json!(["!token-1!"]);
    unlisted["log"]["entries"][0]["_contrail"]["token"] = "!token-9!".into();
    let escaped = broken(&har).replace("\"_contrail\"", "\"\\u005fcontr\\u0061il\"");
    // A secret that `scan` finds.
    let secret =
        "\"comment\": \"Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJlLW9mLWl0\", \"version\": \"1.2\"";
    for (file, text, said) in [
        ("unread.har", unread.to_string(), "`unread.har`: `log._contrail.tokens` cannot be read; restore the file"),
        (
            "unlisted.har",
            unlisted.to_string(),
            "`unlisted.har`, entry 0: its token `!token-9!` is not in `log._contrail.tokens`;",
        ),
        ("escaped.har", escaped, "`escaped.har`, entry 0: `_contrail.operation` is a number"),
    ] {
        let text = text.replacen("\"version\": \"1.2\"", secret, 1).replacen("\"version\":\"1.2\"", secret, 1);
        fs::write(workspace.path().join(file), text).unwrap();
        let ran = workspace.run(&["redact", file, "--out", "out"]);
        assert_eq!(ran.status, 2, "{file}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
        let scanned = workspace.run(&["scan", file]);
        assert_eq!(scanned.status, 1, "{}", scanned.stderr);
        assert!(
            scanned.stderr.contains(&format!("; `contrail redact` cannot remove it: {said}")),
            "{}",
            scanned.stderr
        );
    }
    let newer = har.replacen("\"version\": 1,", "\"version\": 99,", 1);
    assert_ne!(newer, har);
    fs::write(workspace.path().join("newer.har"), newer).unwrap();
    let ran = workspace.run(&["redact", "newer.har", "--out", "out"]);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("`_contrail.version` is 99"), "{}", ran.stderr);
}

#[test]
fn the_har_file_of_a_fixture_with_body_files_is_not_replaced_by_one_that_holds_them() {
    let workspace = Workspace::new();
    let running = workspace.start("record", &["--out", "fx"]);
    get(running.address, TEMPLATES, &token(running.address));
    running.finish();
    assert_eq!(workspace.run(&["pack", "fx", "--out", "one.har"]).status, 0);
    let before = text_of(&workspace.path().join("fx"));
    for arguments in [
        &["redact", "fx", "--out", "fx/fx.har"][..],
        &["redact", "fx/fx.har", "--out", "fx/fx.har"],
        &["redact", "one.har", "--out", "fx/fx.har"],
        &["pack", "one.har", "--out", "fx/fx.har", "--overwrite"],
        &["import", "one.har", "--out", "fx/fx.har", "--overwrite", "--upstream", "https://tenant.example"],
        &["record", "--upstream", "sandbox", "--out", "fx/fx.har", "--append", "--", "true"],
    ] {
        let ran = workspace.run(arguments);
        let said =
            "`fx/fx.har`: that is the HAR file of a fixture with a file per body; name its folder, or another file";
        assert_eq!((ran.status, ran.stderr), (2, format!("contrail: {said}\n")), "{arguments:?}");
    }
    assert_eq!(text_of(&workspace.path().join("fx")), before);
}

#[test]
fn a_body_file_that_was_edited_is_accepted_and_counted() {
    let workspace = Workspace::new();
    let running = workspace.start("record", &["--out", "fx"]);
    get(running.address, TEMPLATES, &token(running.address));
    running.finish();
    let body = body_file(&workspace.path().join("fx"), "getConnectionProfileTemplates-#-response.json");
    let text = fs::read_to_string(&body).unwrap();
    fs::write(&body, text.replacen('{', "{ \"edited\": true,", 1)).unwrap();
    let ran = workspace.run(&["redact", "--check", "fx"]);
    assert_line(&ran.stderr, "would accept 1 body file edited by hand (the digest differs from the HAR file's)");
    let ran = workspace.run(&["redact", "--in-place", "fx"]);
    assert_error(&ran, 0, "accepted 1 body file edited by hand (the digest differs from the HAR file's)");
    let ran = workspace.run(&["redact", "--in-place", "fx"]);
    assert_output("record/redacted/a_body_file_whose_edit_was_accepted", &ran);
}

#[test]
fn a_fixture_reads_the_same_with_its_members_in_any_order() {
    let workspace = Workspace::new();
    let running = workspace.start("record", &["--out", "fx.har"]);
    get(running.address, TEMPLATES, &token(running.address));
    running.finish();
    let before = verdicts(&workspace, "fx.har");
    let text = workspace.read("fx.har");
    let har: Value = serde_json::from_str(&text).unwrap();
    let log = &har["log"];
    assert!(log["_contrail"]["tokens"].is_object());
    let last = format!(
        "{{\"log\":{{\"version\":\"1.2\",\"entries\":{},\"creator\":{},\"_contrail\":{}}}}}",
        log["entries"], log["creator"], log["_contrail"]
    );
    fs::write(workspace.path().join("fx.har"), last).unwrap();
    assert_eq!(verdicts(&workspace, "fx.har"), before);
    let ran = workspace.run(&["redact", "--in-place", "fx.har"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(workspace.read("fx.har"), text);
    let replay = Running::start(workspace.path(), ["replay", "fx.har", "--listen", "127.0.0.1:0"]);
    assert_eq!(get(replay.address, TEMPLATES, &token(replay.address)).status(), 200);
    assert_eq!(replay.finish().status, 0);
}

#[test]
fn several_files_are_redacted_in_place_together_or_not_at_all() {
    let workspace = Workspace::new();
    let running = workspace.start("record", &["--out", "all/fx"]);
    ask(running.address);
    running.finish();
    let secret = |count: usize| "client_secret=S3cret-0123456789abcdef\n".repeat(count);
    fs::create_dir_all(workspace.path().join("all/b")).unwrap();
    fs::write(workspace.path().join("all/a.txt"), format!("ann@example.org {}", secret(1))).unwrap();
    fs::write(workspace.path().join("all/b/large.txt"), secret(4000)).unwrap();
    let before = ["all", "all/b", "all/fx"].map(|folder| files(&workspace.path().join(folder)));
    // A file of more than 64 KiB cannot be written, as if the disk were full behind it.
    let ran: crate::support::command::Ran = crate::support::command::limited("ulimit -f 64")
        .current_dir(workspace.path())
        .args(["redact", "--in-place", "all", "--redact", "personal"])
        .output()
        .unwrap()
        .into();
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert_line(&ran.stderr, "contrail: cannot write `all/b/large.txt`: File too large (os error 27)");
    assert_eq!(["all", "all/b", "all/fx"].map(|folder| files(&workspace.path().join(folder))), before);
    // What a killed one left.
    fs::write(workspace.path().join("all/.a.txt.contrail-new"), "{{client-secret-1}}").unwrap();
    let ran = workspace.run(&["redact", "--in-place", "all", "--redact", "personal"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    for (folder, before) in ["all", "all/b", "all/fx"].into_iter().zip(before) {
        let now = files(&workspace.path().join(folder));
        assert_ne!(now, before, "{folder}");
        let text = format!("{now:?}");
        assert!(
            !text.contains("ann@example.org") && !text.contains("S3cret-") && !text.contains(".contrail"),
            "{text}"
        );
    }
}

/// The files of a folder with what they hold.
fn files(folder: &Path) -> Vec<(String, String)> {
    let items = fs::read_dir(folder).unwrap().map(|item| item.unwrap().path()).filter(|path| path.is_file());
    let named = |path: std::path::PathBuf| (path.display().to_string(), fs::read_to_string(&path).unwrap());
    let mut files: Vec<_> = items.map(named).collect();
    files.sort();
    files
}

#[test]
fn a_fixture_that_would_hold_a_secret_is_not_written_and_its_place_is_named() {
    let workspace = Workspace::new();
    let secret = "zq0a7580k3b9wx2";
    for fixture in ["rec", "rec.har"] {
        let record = workspace.start("record", &["--out", fixture]);
        // Names of header fields are kept.
        let headers = [("Authorization", &*format!("Bearer {secret}")), (secret, "1")];
        call(record.address, "GET", TEMPLATES, &headers, b"");
        let ran = record.finish();
        assert_eq!(ran.status, 1, "{}", ran.stderr);
        assert_line(&ran.stderr, "PROOF FAILED: the fixture would hold a secret, and was not written:");
        assert_line(
            &ran.stderr,
            "  entry 0 (GET /api/v2/connection-profiles/templates): the name of the request's header field `!token-1!` holds a \
             secret (token, raw) at byte 0",
        );
        let kept = format!("the exchanges are still in: {fixture}.failed.journal");
        assert_line(&ran.stderr, &kept);
        assert!(!workspace.path().join("rec/rec.har").exists() && !workspace.path().join("rec.har").exists());
        assert!(!workspace.path().join(format!("{fixture}.journal")).exists());
        assert!(!ran.stderr.contains(secret));
        // What is left can be packed, without the client's odd field.
        let packed =
            workspace.run(&["pack", &format!("{fixture}.failed.journal"), "--out", &format!("x-{fixture}.har")]);
        assert_eq!(packed.status, 0, "{}", packed.stderr);
    }
}
