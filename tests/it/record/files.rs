//! What is written: the journal while it runs, the fixture at the end, and what was there before.

use std::{
    ffi::OsStr,
    fs,
    io::{BufReader, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    os::unix::ffi::OsStrExt as _,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::harness::{SECRET, TEMPLATES, Workspace, entries, get, objects, token};
use crate::support::{
    command::{Ran, run_in},
    golden::{assert_error, assert_line, assert_output},
    har::unhashed,
    process::Running,
    wire::{Origin, call, read},
};

pub const GROUPS: &str = "/api/v2/connections/c/directory-provisioning/synchronized-groups";

#[test]
fn a_recording_becomes_a_fixture_that_verifies_as_it_was_judged_and_its_journal_goes() {
    for (out, har) in [("rec", "rec/rec.har"), ("rec.har", "rec.har")] {
        let workspace = Workspace::new();
        let running = workspace.start("record", &["--out", out]);
        let address = running.address;
        let token = token(address);
        get(address, TEMPLATES, &token);
        get(address, &format!("{GROUPS}?take=101"), &token);
        assert!(workspace.has(&format!("{out}.journal")));
        let ran = running.finish();
        assert_eq!(ran.status, 1, "{}", ran.stderr);
        assert_line(&ran.stderr, &format!("next: contrail replay {out}"));
        assert_line(&ran.stderr, "proof: replayed against itself, verified, scanned for secrets: good");
        assert!(!workspace.has(&format!("{out}.journal")));
        assert_eq!(entries(&workspace.read(har)).len(), 3);
        assert!(!workspace.read(har).contains(SECRET) && !workspace.read(har).contains(&token));
        let verified = workspace.run(&["verify", out, "--format", "json"]);
        let report: serde_json::Value = serde_json::from_str(&verified.stdout).unwrap();
        assert_eq!(report["summary"]["violates"], 1);
    }
}

#[test]
fn body_files_of_requests_without_an_operation_are_named_by_method_and_words_of_the_path() {
    let workspace = Workspace::new();
    let origin = Origin::start();
    let paths = ["/v1/orders/17", "/v1/orders/18", "/v1/orders/18/line-items?key=word", "/", "/alice@example.com"];
    for path in paths {
        origin.will_answer(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{path}", path.len()));
    }
    let record = workspace.start_at(origin.address, "record", &["--contract", "none", "--out", "fx"]);
    for path in paths {
        call(record.address, "GET", path, &[], b"");
    }
    let ran = record.finish();
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let files = fs::read_dir(workspace.path().join("fx")).unwrap();
    let mut names: Vec<_> = files.map(|file| unhashed(file.unwrap().file_name().to_str().unwrap())).collect();
    names.sort();
    assert_eq!(
        names,
        [
            "fx.har",
            "get-#-response.txt",
            "get-#-response.txt",
            "get-v1-orders-#-response.txt",
            "get-v1-orders-#-response.txt",
            "get-v1-orders-line-items-#-response.txt",
        ]
    );
}

#[test]
fn an_existing_fixture_is_refused_without_an_option_that_decides_what_becomes_of_it() {
    let workspace = Workspace::new();
    fs::write(workspace.path().join("rec.har"), "{}").unwrap();
    let ran = workspace.run(&["record", "--upstream", "sandbox", "--listen", "127.0.0.1:0", "--out", "rec.har"]);
    assert_eq!(ran.status, 2);
    assert_eq!(
        ran.stderr,
        "contrail: rec.har exists already; --append adds to it, --overwrite replaces it, --replace OPERATION records one \
         operation again\n"
    );
    assert_eq!(workspace.read("rec.har"), "{}");
    assert!(!workspace.has("rec.har.journal"));
}

pub fn record(workspace: &Workspace, options: &[&str], targets: &[&str]) {
    let running = workspace.start("record", &[&["--out", "rec.har"], options].concat());
    let token = token(running.address);
    for target in targets {
        get(running.address, target, &token);
    }
    running.finish();
}

pub fn operations(workspace: &Workspace) -> Vec<String> {
    entries(&workspace.read("rec.har"))
        .iter()
        .map(|entry| entry["request"]["url"].as_str().unwrap().replace("https://tenant.example", ""))
        .filter(|url| !url.starts_with("/oauth"))
        .collect()
}

#[test]
fn append_adds_overwrite_replaces_and_replace_renews_one_operation() {
    let workspace = Workspace::new();
    record(&workspace, &[], &[TEMPLATES]);
    record(&workspace, &["--append"], &[TEMPLATES, GROUPS]);
    assert_eq!(operations(&workspace), [TEMPLATES, GROUPS]);
    record(&workspace, &["--replace", "getConnectionProfileTemplates"], &[TEMPLATES, GROUPS]);
    assert_eq!(operations(&workspace), [TEMPLATES, GROUPS]);
    record(&workspace, &["--contract", "none", "--replace", "GET /api/v2/connections/*"], &[TEMPLATES, GROUPS, GROUPS]);
    assert_eq!(operations(&workspace), [TEMPLATES, GROUPS, GROUPS]);
    record(&workspace, &["--overwrite"], &[GROUPS]);
    assert_eq!(operations(&workspace), [GROUPS]);
}

#[test]
fn recording_an_unchanged_tenant_again_changes_no_byte() {
    let workspace = Workspace::new();
    record(&workspace, &[], &[TEMPLATES, GROUPS]);
    let before = workspace.read("rec.har");
    record(&workspace, &["--overwrite"], &[TEMPLATES, GROUPS]);
    assert_eq!(workspace.read("rec.har"), before);
}

#[test]
fn a_path_that_is_not_utf_8_is_refused_before_anything_is_recorded() {
    let workspace = Workspace::new();
    let folder = workspace.path().join(OsStr::from_bytes(b"n\xff"));
    fs::create_dir(&folder).unwrap();
    for (at, out, journal) in [
        (workspace.path(), &b"n\xff/x"[..], "n\u{fffd}/x.journal"),
        (workspace.path(), b"o\xff.har", "o\u{fffd}.har.journal"),
        (&folder, b"x.har", "x.har.journal"),
    ] {
        let arguments = ["record", "--upstream", "sandbox", "--out"].map(OsStr::new);
        let rest = [OsStr::from_bytes(out), OsStr::new("--"), OsStr::new("true")];
        let ran = run_in(at, arguments.into_iter().chain(rest));
        let said = "its path is not UTF-8, and a journal states the path of its fixture; name another";
        assert_error(&ran, 2, &format!("contrail: `{journal}`: {said}"));
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn recording_multipart_requests_again_changes_no_byte_and_any_boundary_replays() {
    let workspace = Workspace::new();
    let upload = |address: SocketAddr, boundary: &str, extra: &str| {
        let body = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"payload\"\r\n\r\n{{\"a\":1}}\r\n--{boundary}--\r\n"
        );
        let media_type = format!("multipart/form-data; boundary={boundary}");
        let headers = [("Content-Type", &*media_type), ("Postman-Token", extra), ("X-Stripe-Client-Telemetry", extra)];
        call(address, "POST", "/api/v2/actions/actions/act_1/test", &headers, body.as_bytes()).status()
    };
    let mut files = Vec::new();
    for boundary in ["----WebKitFormBoundaryq2mPbQ7cXbVxVTaH", "9f86d081884c7d659a2feaa0c55ad015"] {
        let running = workspace.start("record", &["--out", "rec.har", "--overwrite"]);
        assert_eq!(upload(running.address, boundary, &format!("run {}", boundary.len())), 401);
        let ran = running.finish();
        assert_line(&ran.stderr, "proof: replayed against itself, verified, scanned for secrets: good");
        files.push(workspace.read("rec.har"));
    }
    assert_eq!(files[0], files[1]);
    assert!(files[0].contains("multipart/form-data; boundary=contrail-boundary"), "{}", files[0]);
    let replay = Running::start(workspace.path(), ["replay", "--listen", "127.0.0.1:0", "rec.har"]);
    assert_eq!(upload(replay.address, "another-one", "x"), 401);
}

#[test]
fn an_unknown_operation_is_refused_before_a_journal_is_made() {
    for option in ["--only", "--replace"] {
        let workspace = Workspace::new();
        let ran = workspace.run(&[
            "record",
            "--upstream",
            "sandbox",
            "--listen",
            "127.0.0.1:0",
            "--out",
            "rec.har",
            option,
            "nope",
        ]);
        assert_eq!(ran.status, 2);
        assert_line(
            &ran.stderr,
            &format!("contrail: {option} nope: the contract has no such operation; `contrail contract` lists them"),
        );
        assert!(!workspace.has("rec.har.journal"));
    }
}

#[test]
fn two_recordings_into_one_journal_are_refused() {
    let workspace = Workspace::new();
    let running = workspace.start("record", &["--out", "rec.har"]);
    let ran = workspace.run(&["record", "--upstream", "sandbox", "--listen", "127.0.0.1:0", "--out", "rec.har"]);
    assert_eq!(ran.status, 2);
    assert_output("record/files/two_recordings_into_one_journal_are_refused", &ran);
    running.finish();
}

#[test]
fn transient_answers_and_contrails_own_stay_out_of_the_fixture_and_are_counted() {
    let workspace = Workspace::new();
    let tenant = TcpListener::bind("127.0.0.1:0").unwrap();
    let running = workspace.start_at(tenant.local_addr().unwrap(), "record", &["--out", "rec.har", "--format", "json"]);
    let played = std::thread::spawn(move || {
        for answer in ["429 Too Many Requests", "503 Service Unavailable", "200 OK"] {
            let (stream, _) = tenant.accept().unwrap();
            read(&mut BufReader::new(&stream), false, false).unwrap();
            write!(&stream, "HTTP/1.1 {answer}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}").unwrap();
        }
    });
    for expected in [429, 503, 200] {
        assert_eq!(call(running.address, "GET", TEMPLATES, &[], b"").status(), expected);
    }
    played.join().unwrap();
    assert_eq!(call(running.address, "GET", TEMPLATES, &[], b"").status(), 502);
    let ran = running.finish();
    let summary = &objects(&ran, "summary")[0]["summary"];
    assert_eq!(summary["entries"], 1, "{summary}");
    assert_eq!(summary["answered_by_contrail"]["upstream"], 1, "{summary}");
    assert_eq!(summary["transient_answers_left_out_(--keep_keeps_them)"], "429 × 1, 503 × 1", "{summary}");
}

#[test]
fn a_trail_is_kept_and_verifies() {
    let workspace = Workspace::new();
    let running = workspace.start("watch", &["--trail", "trail"]);
    get(running.address, TEMPLATES, &token(running.address));
    assert_eq!(running.finish().status, 0);
    let verified = workspace.run(&["verify", "trail", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_str(&verified.stdout).unwrap();
    assert_eq!(report["summary"]["exchanges"], 2);
}

#[test]
fn an_exchange_in_progress_at_a_signal_is_drained_and_recorded() {
    let workspace = Workspace::new();
    let tenant = TcpListener::bind("127.0.0.1:0").unwrap();
    let running = workspace.start_at(tenant.local_addr().unwrap(), "record", &["--out", "rec.har"]);
    let mut client = TcpStream::connect(running.address).unwrap();
    write!(client, "GET {TEMPLATES} HTTP/1.1\r\nHost: p\r\n\r\n").unwrap();
    let (mut upstream, _) = tenant.accept().unwrap();
    read(&mut BufReader::new(&upstream), false, false).unwrap();
    kill(Pid::from_raw(running.id().cast_signed()), Signal::SIGTERM).unwrap();
    // Its listener is closed once the drain has begun.
    while TcpStream::connect(running.address).is_ok() {
        std::thread::yield_now();
    }
    upstream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}").unwrap();
    assert_eq!(read(&mut BufReader::new(&client), false, true).unwrap().body, b"{}");
    drop(client);
    running.wait();
    assert_eq!(entries(&workspace.read("rec.har")).len(), 1);
}

#[test]
fn a_full_disk_stops_no_traffic_and_is_reported_at_once_and_by_the_exit_status() {
    let workspace = Workspace::new();
    let arguments = "watch --upstream sandbox --seed seed.json --listen 127.0.0.1:0 --trail trail".split(' ');
    // A limit on file sizes makes writes fail as a full disk does.
    let running = Running::limited("ulimit -f 4", workspace.path(), arguments);
    for _ in 0..20 {
        assert_eq!(call(running.address, "GET", TEMPLATES, &[], b"").status(), 401);
    }
    let Ran { status, stderr, .. } = running.finish();
    assert_eq!(status, 2);
    assert_eq!(stderr.matches("ALARM: the journal cannot be written").count(), 1, "{stderr}");
    assert_line(&stderr, "18 NOT RECORDED, because the journal could not be written");
    // What was written is whole.
    assert_eq!(workspace.run(&["verify", "trail"]).status, 1);
}

#[test]
fn a_command_that_fails_before_anything_is_recorded_leaves_no_new_file_and_an_old_one_as_it_was() {
    let workspace = Workspace::new();
    let record = |options: &[&str], command: &str| {
        let all = ["record", "--upstream", "sandbox", "--seed", "seed.json"];
        workspace.run(&[&all, options, &["--", command]].concat())
    };
    for (command, status) in [("/does/not/exist", 2), ("false", 1)] {
        for out in ["rec.har", "rec"] {
            let ran = record(&["--out", out], command);
            assert_eq!(ran.status, status, "{}", ran.stderr);
            let left: Vec<_> = fs::read_dir(workspace.path()).unwrap().map(|item| item.unwrap().file_name()).collect();
            assert_eq!(left, ["seed.json"], "{command} {out}");
        }
    }
    fs::copy("fixtures/gaps.har", workspace.path().join("old.har")).unwrap();
    let old = workspace.read("old.har");
    for how in ["--append", "--overwrite"] {
        let ran = record(&["--out", "old.har", how], "false");
        assert_error(&ran, 1, "exit status 1: the command ended with status 1; NOTHING RECORDED");
        assert_eq!((workspace.read("old.har"), workspace.has("old.har.journal")), (old.clone(), false), "{how}");
    }
}

#[test]
fn personal_data_is_counted_and_the_summary_states_whether_it_is_masked() {
    let said = |options: &[&str]| {
        let workspace = Workspace::new();
        let running = workspace.start("record", &[&["--out", "rec.har"], options].concat());
        get(running.address, "/api/v2/users?email=jane.doe%40example.com", "none");
        let ran = running.finish();
        let line = ran.stderr.lines().find(|line| line.contains("personal data")).map(str::to_owned);
        (line.unwrap_or_default(), workspace.read("rec.har").contains("jane.doe"))
    };
    assert_eq!(said(&[]), ("looks like personal data (--redact personal masks it): email 1".to_owned(), true));
    assert_eq!(said(&["--redact", "personal"]), ("personal data masked: email 1".to_owned(), false));
}

#[test]
fn a_first_recording_in_a_git_work_tree_writes_what_git_needs_and_no_file_of_the_user_changes() {
    const ATTRIBUTES: &str = "* -text linguist-generated\n*.har diff=contrail merge=contrail\n";
    const IGNORED: &str = "*.journal\n";
    let workspace = Workspace::new();
    let record = |how: &str, out: &str| {
        let running = workspace.start("record", &[how, out]);
        get(running.address, TEMPLATES, &token(running.address));
        assert_eq!(running.finish().status, 0);
    };
    let git = |arguments: &[&str]| -> Ran {
        std::process::Command::new("git").current_dir(workspace.path()).args(arguments).output().unwrap().into()
    };
    let has = |name: &str| workspace.has(name);
    record("--out", "outside/a");
    assert!(!has("outside/a/.gitattributes") && !has("outside/.gitignore"), "there is no repository");
    assert_eq!(git(&["init", "-q"]).status, 0);
    record("--out", "a");
    assert_eq!(workspace.read("a/.gitattributes"), ATTRIBUTES);
    assert!(!has(".gitignore"), "the folder of the repository is the user's own");
    record("--out", "all/b");
    assert_eq!(workspace.read("all/b/.gitattributes"), ATTRIBUTES);
    assert_eq!(workspace.read("all/.gitignore"), IGNORED);
    // Git understands them.
    let checked = git(&["check-attr", "text", "--", "all/b/b.har", "all/b/get-response.json"]);
    assert_eq!(checked.stdout, "all/b/b.har: text: unset\nall/b/get-response.json: text: unset\n");
    assert_eq!(git(&["check-ignore", "all/b.journal"]).stdout, "all/b.journal\n");
    // What is there stays, and a folder with other files in it gets none.
    for (file, text) in [("all/.gitattributes", "mine"), ("all/.gitignore", "mine"), ("source/x.py", "")] {
        let path = workspace.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    record("--out", "all/c");
    assert!(!has("all/c/.gitattributes"));
    assert_eq!(
        (workspace.read("all/.gitignore"), workspace.read("all/.gitattributes")),
        ("mine".into(), "mine".into())
    );
    record("--out", "source/fx");
    assert!(has("source/fx/.gitattributes") && !has("source/.gitignore"));
    record("--out", "single/fx.har");
    assert!(!has("single/.gitattributes") && !has("single/.gitignore"));
    // A folder of fixtures has both once.
    record("--sessions", "tests");
    assert_eq!(workspace.read("tests/.gitattributes"), ATTRIBUTES);
    assert_eq!(workspace.read("tests/.gitignore"), IGNORED);
    assert!(!has("tests/-/.gitattributes"));
    fs::create_dir(workspace.path().join("code")).unwrap();
    fs::write(workspace.path().join("code/x.py"), "").unwrap();
    record("--sessions", "code");
    assert!(!has("code/.gitattributes") && has("code/-/.gitattributes"));
    // No command takes them for a part of the recordings.
    for arguments in [
        &["verify", "all", "tests", "--contract", "none"][..],
        &["replay", "--sessions", "tests", "--allow", "unused", "--", "true"],
        &["replay", "all/b", "--allow", "unused", "--", "true"],
        &["audit", "all/b", "--contract", "none"],
        &["scan", "all/b", "tests"],
        &["import", "all/b/b.har", "--out", "imported"],
        &["import", "tests", "--out", "trees"],
        &["pack", "all/b", "--out", "b.har"],
        &["unpack", "b.har", "--out", "unpacked"],
        &["redact", "all/b", "--out", "redacted"],
    ] {
        let ran = workspace.run(arguments);
        assert_eq!(ran.status, 0, "{arguments:?}: {}{}", ran.stdout, ran.stderr);
        assert!(!ran.stderr.contains(".git"), "{arguments:?}: {}", ran.stderr);
    }
    assert_eq!(workspace.read("imported/.gitattributes"), ATTRIBUTES);
    record("--overwrite", "--out=all/b");
    assert_eq!(workspace.read("all/b/.gitattributes"), ATTRIBUTES);
}
